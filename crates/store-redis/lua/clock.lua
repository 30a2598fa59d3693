-- Time is the server's, never a caller's.

local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- The Unix time in milliseconds at which a state that is at rest from tick `expires_at` on may go.
local function clock_expiry(expires_at, is_millis)
  if is_millis then
    return expires_at
  end
  return ceil_div(expires_at, 1000)
end

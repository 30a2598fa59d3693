-- Time is the server's, never a caller's. Redis freezes it while a script runs.

local function clock_now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- The Unix time in milliseconds at which a state that is at rest from `micros` on may go.
local function clock_expiry(micros)
  return ceil_div(micros, 1000)
end

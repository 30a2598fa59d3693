-- Virtual time for tests and replays: the last argument is the present instant in microseconds. What the server lets go of
-- depends on its own clock, so every key lives a day longer than its virtual time asks for.

local clock = tonumber(ARGV[#ARGV])

local function clock_expiry(expires_at, is_millis)
  local time = redis.call('TIME')
  local day_later = tonumber(time[1]) * 1000 + 86400000
  if not is_millis then
    expires_at = ceil_div(expires_at, 1000)
  end
  return day_later + saturating_sub(expires_at, floor_div(clock, 1000))
end

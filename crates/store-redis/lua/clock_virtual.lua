-- Virtual time for tests and replays: the last argument is the present instant in microseconds. What the server lets go of
-- depends on its own clock, so every key lives a day longer than its virtual time asks for.

local function clock_now()
  return tonumber(ARGV[#ARGV])
end

local function clock_expiry(micros)
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + 86400000 + ceil_div(saturating_sub(micros, clock_now()), 1000)
end

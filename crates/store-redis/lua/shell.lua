-- Executes a batch of checks, one after the other, each all or nothing. The only file that reads and writes keys together
-- with state.lua and log.lua.
--
-- KEYS: every key once. ARGV: the number of checks; per check the number of its items; per item the index of its key, the
-- algorithm, microseconds per tick, three numbers of the limit (unused ones 0), and the cost.
-- Replies with integers: the instant in microseconds, the number of unreadable states; per item verdict, retry_after,
-- remaining, reset_after and delay, times in ticks.

local function decide(i, algorithm, a, b, c, now, cost)
  if algorithm == SLIDING_WINDOW_LOG then
    local log = log_load(i)
    return sliding_window_log_decide(a, b, log.entry, log.total, log.newest, now, cost)
  end
  local one, two, three
  if state_algorithm[i] == algorithm then
    one, two, three = state_1[i], state_2[i], state_3[i]
  end
  if algorithm == TOKEN_BUCKET then
    return token_bucket_decide(a, b, c, one, two, now, cost)
  elseif algorithm == SLIDING_WINDOW_COUNTER then
    return sliding_window_counter_decide(a, b, one, two, three, now, cost)
  elseif algorithm == FIXED_WINDOW then
    return fixed_window_decide(a, b, one, two, now, cost)
  end
  return leaky_bucket_decide(a, b, c, one, two, now, cost)
end

local function charge(i, algorithm, tick, a, b, c, cost, one, two, three)
  local expires_at
  if algorithm == SLIDING_WINDOW_LOG then
    log_append(log_load(i), one, two, three, cost, (three + b) * tick)
    return
  elseif algorithm == TOKEN_BUCKET then
    expires_at = token_bucket_expires_at(a, b, c, one, two)
  elseif algorithm == SLIDING_WINDOW_COUNTER then
    expires_at = sliding_window_counter_expires_at(a, b, one, two, three)
  elseif algorithm == FIXED_WINDOW then
    expires_at = fixed_window_expires_at(a, b, one, two)
  else
    expires_at = leaky_bucket_expires_at(a, b, c, one, two)
  end
  state_put(i, algorithm, expires_at * tick, one, two, three)
end

state_load()
local clock = clock_now()
local reply = { clock, 0 }
local cursor = 1

local function argument()
  cursor = cursor + 1
  return tonumber(ARGV[cursor])
end

for _ = 1, tonumber(ARGV[1]) do
  local items, answers, changes, admitted = {}, {}, {}, true
  for n = 1, argument() do
    local i, algorithm, tick = argument(), argument(), argument()
    local a, b, c, cost = argument(), argument(), argument(), argument()
    local now = floor_div(clock, tick)
    local verdict, retry_after, remaining, reset_after, delay, one, two, three = decide(i, algorithm, a, b, c, now, cost)
    items[n] = { i, algorithm, tick, a, b, c, cost, now }
    answers[n] = { verdict, retry_after, remaining, reset_after, delay }
    changes[n] = { one, two, three }
    admitted = admitted and verdict == ADMIT
  end
  for n = 1, #items do
    local i, algorithm, tick, a, b, c, cost, now = unpack(items[n])
    local answer = answers[n]
    if admitted then
      if cost > 0 then
        charge(i, algorithm, tick, a, b, c, cost, changes[n][1], changes[n][2], changes[n][3])
      end
    elseif answer[1] == ADMIT and cost > 0 then
      -- Another item denied: nothing is charged, and the balance shown is the one without this request.
      answer = { decide(i, algorithm, a, b, c, now, 0) }
    end
    for field = 1, 5 do
      reply[#reply + 1] = answer[field]
    end
  end
end

state_save()
log_save()
reply[2] = unreadable
return reply

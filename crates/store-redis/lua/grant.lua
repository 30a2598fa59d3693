-- Gives units back by hand.
--
-- KEYS[1]: the key. ARGV[1]: the tag of its state (1 byte, see state.lua), three numbers of its limit in the order of its decide
-- function, unused ones 0, and the units (7 bytes each), big-endian. Replies with one string: the instant in microseconds, what
-- remained before, and what remains now (7 bytes each).

local GRANT, GRANTED = '>BI7I7I7I7', '>I7I7I7'
local tag, a, b, c, units = unpack_numbers(GRANT, ARGV[1])
local algorithm, now = tag % MILLIS, clock
if tag >= IS_MILLIS then
  now = floor_div(clock, 1000)
end

local before, after, expires_at
local one, two, three
if algorithm == SLIDING_WINDOW_LOG then
  local log_decide, _, _, log_load = log()
  local _, sliding_window_log_grant = sliding_window_log()
  local _, _, remaining = log_decide(1, tag, a, b, now, 0)
  before, after = remaining, remaining
  local entries = log_load(1, tag)
  if entries.newest and entries.newest + b > now then
    local back = sliding_window_log_grant(a, b, entries.entry, entries.total, entries.newest, now, units)
    local total, newest, newest_cost = entries.total - back, entries.newest, entries.newest_cost
    if back > 0 then
      -- The head holds the newest entry that is worth anything. Where only the head is left, it is popped, and the log is gone.
      repeat
        local taken = min(back, newest_cost)
        back, newest_cost = back - taken, newest_cost - taken
        if newest_cost == 0 then
          local entry = call('RPOP', KEYS[1], 2)
          newest_cost, newest = tonumber(entry[1]), tonumber(entry[2])
        end
      until not newest_cost or not newest or (back == 0 and newest_cost > 0)
      if newest_cost and newest then
        call('LSET', KEYS[1], 0, pack_numbers(THREE, tag, total, newest, newest_cost))
        call('PEXPIREAT', KEYS[1], string.format('%d', clock_expiry(newest + b, tag >= IS_MILLIS)))
      else
        call('DEL', KEYS[1])
      end
      after = min(a, before + units)
    end
  end
else
  one, two, three = state_read(1, tag)
  if algorithm == TOKEN_BUCKET then
    local token_bucket_decide, token_bucket_expires_at, _, token_bucket_grant = token_bucket()
    _, _, before = token_bucket_decide(a, b, c, one, two, now, 0)
    if one then
      one, two = token_bucket_grant(a, b, c, one, two, now, units)
      expires_at = one and token_bucket_expires_at(a, b, c, one, two)
    end
    _, _, after = token_bucket_decide(a, b, c, one, two, now, 0)
  elseif algorithm == SLIDING_WINDOW_COUNTER then
    local sliding_window_counter_decide, sliding_window_counter_expires_at, _, sliding_window_counter_grant =
      sliding_window_counter()
    _, _, before = sliding_window_counter_decide(a, b, one, two, three, now, 0)
    if one then
      one, two, three = sliding_window_counter_grant(a, b, one, two, three, now, units)
      expires_at = one and sliding_window_counter_expires_at(a, b, one, two, three)
    end
    _, _, after = sliding_window_counter_decide(a, b, one, two, three, now, 0)
  elseif algorithm == FIXED_WINDOW then
    local fixed_window_decide, fixed_window_expires_at, _, fixed_window_grant = fixed_window()
    -- Kept as (units, instant), as the buckets are.
    _, _, before = fixed_window_decide(a, b, two, one, now, 0)
    if one then
      two, one = fixed_window_grant(a, b, two, one, now, units)
      expires_at = one and fixed_window_expires_at(a, b, two, one)
    end
    _, _, after = fixed_window_decide(a, b, two, one, now, 0)
  elseif algorithm == ENDING_WINDOW then
    local _, ending_window_expires_at, _, ending_window_grant = ending_window()
    -- Where the next window ends plays no part: nothing is used in it.
    before = a
    if one and two > now then
      before = saturating_sub(a, one)
    end
    after = before
    if one then
      two, one = ending_window_grant(a, two, one, now, units)
      expires_at = one and ending_window_expires_at(two, one)
      if one then
        after = saturating_sub(a, one)
      end
    end
  else
    local leaky_bucket_decide, leaky_bucket_expires_at, _, leaky_bucket_grant = leaky_bucket()
    _, _, before = leaky_bucket_decide(a, b, c, one, two, now, 0)
    if one then
      one, two = leaky_bucket_grant(a, b, c, one, two, now, units)
      expires_at = one and leaky_bucket_expires_at(a, b, c, one, two)
    end
    _, _, after = leaky_bucket_decide(a, b, c, one, two, now, 0)
  end
  if expires_at then
    local state
    if algorithm == SLIDING_WINDOW_COUNTER then
      state = pack_numbers(THREE, tag, one, two, three)
    else
      state = pack_numbers(one < SMALL and TWO_SMALL or TWO, tag, one, two)
    end
    call('SET', KEYS[1], state, 'PXAT', string.format('%d', clock_expiry(expires_at, tag >= IS_MILLIS)))
  else
    after = before
  end
end
return pack_numbers(GRANTED, clock, before, after)

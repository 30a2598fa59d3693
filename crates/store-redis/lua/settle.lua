-- Settles charges, each by itself: gives back those of a check that was denied elsewhere, the slots of delayed requests that
-- were cancelled, and what requests did not cost in the end; and charges what they cost beyond what they were charged, as far
-- as there is room.
--
-- KEYS: every key once. ARGV[1]: per charge the index of its key (2 bytes), the tag of its state (1 byte, see state.lua), three
-- numbers of its limit in the order of its decide function, unused ones 0, the units to give back, the tick at which they were
-- charged, the tick at which the whole limit would have been available again, and the units to charge now (7 bytes each),
-- big-endian. Replies with one string: the instant in microseconds (7 bytes), the number of unreadable states (4 bytes); per
-- charge (7 bytes) the units that were charged now, or, where none were to be, whether something was given back.
--
-- ARGV[2], where a charge of a calendar is to grow: edges as shell.lua gets them. Where the present window is not among them
-- the answer is UNPLACED, nothing is charged, and the caller sends edges around the instant that it was told.

local CHARGE, CHARGE_BYTES = '>HBI7I7I7I7I7I7I7', 52
local EDGES, UNPLACED = '>I7I7I7I7', 9007199254740992
local batch, reply = ARGV[1], { '' }

-- Keeps the new state of a key.
local function keep(i, tag, one, two, three, expires_at)
  if three then
    states[i] = pack_numbers(THREE, tag, one, two, three)
  else
    states[i] = pack_numbers(one < SMALL and TWO_SMALL or TWO, tag, one, two)
  end
  call('SET', KEYS[i], states[i], 'PXAT', string.format('%d', clock_expiry(expires_at, tag >= IS_MILLIS)))
end

-- Charges as much of `extra` units as there is room for: so many.
local function top_up(i, tag, a, b, c, now, extra)
  local algorithm, decide, expires_at = tag % MILLIS, nil, nil
  if algorithm == SLIDING_WINDOW_LOG then
    local log_decide, log_append, log_save = log()
    local _, _, room = log_decide(i, tag, a, b, now, 0)
    local units = min(extra, room)
    if units > 0 then
      local _, _, _, _, _, expired, freed, at = log_decide(i, tag, a, b, now, units)
      expires_at = log_append(i, tag, b, expired, freed, at, units)
      log_save(logs[i], string.format('%d', clock_expiry(expires_at, tag >= IS_MILLIS)))
    end
    return units
  end
  local one, two, three = state_read(i, tag)
  if algorithm == TOKEN_BUCKET then
    local token_bucket_decide, token_bucket_expires_at = token_bucket()
    decide = function(cost)
      return token_bucket_decide(a, b, c, one, two, now, cost)
    end
    expires_at = function(level, at)
      return token_bucket_expires_at(a, b, c, level, at)
    end
  elseif algorithm == SLIDING_WINDOW_COUNTER then
    local sliding_window_counter_decide, sliding_window_counter_expires_at = sliding_window_counter()
    decide = function(cost)
      return sliding_window_counter_decide(a, b, one, two, three, now, cost)
    end
    expires_at = function(start, previous, current)
      return sliding_window_counter_expires_at(a, b, start, previous, current)
    end
  elseif algorithm == FIXED_WINDOW then
    local fixed_window_decide, fixed_window_expires_at = fixed_window()
    decide = function(cost)
      local verdict, retry_after, remaining, reset_after, delay, start, count =
        fixed_window_decide(a, b, two, one, now, cost)
      -- Kept as (units, instant), as the buckets are.
      return verdict, retry_after, remaining, reset_after, delay, count, start
    end
    expires_at = function(count, start)
      return fixed_window_expires_at(a, b, start, count)
    end
  elseif algorithm == ENDING_WINDOW then
    local ending_window_decide, ending_window_expires_at = ending_window()
    -- A window that begins now ends W later, or at the next edge.
    local finish = now + b
    if c > 0 then
      local first, second, third, fourth = unpack_numbers(EDGES, ARGV[2], c)
      if now < first or now >= fourth then
        finish = nil
      elseif now < second then
        finish = second
      elseif now < third then
        finish = third
      else
        finish = fourth
      end
    end
    if not finish and not (two and two > now) then
      return UNPLACED
    end
    decide = function(cost)
      local verdict, retry_after, remaining, reset_after, delay, seen, count =
        ending_window_decide(a, b, finish, two, one, now, cost)
      return verdict, retry_after, remaining, reset_after, delay, count, seen
    end
    expires_at = function(count, seen)
      return ending_window_expires_at(seen, count)
    end
  else
    local leaky_bucket_decide, leaky_bucket_expires_at = leaky_bucket()
    decide = function(cost)
      return leaky_bucket_decide(a, b, c, one, two, now, cost)
    end
    expires_at = function(backlog, at)
      return leaky_bucket_expires_at(a, b, c, backlog, at)
    end
  end
  local _, _, room = decide(0)
  local units = min(extra, room)
  if units > 0 then
    local _, _, _, _, _, new_one, new_two, new_three = decide(units)
    keep(i, tag, new_one, new_two, new_three, expires_at(new_one, new_two, new_three))
  end
  return units
end

local function log_refund(key, tag, cost, charged_at)
  local head = redis.pcall('LINDEX', key, 0)
  local found, total, newest, newest_cost
  if type(head) == 'string' then
    found, total, newest, newest_cost = state_parse(head)
  end
  if found ~= tag then
    return false
  end
  if newest == charged_at then
    local back = min(cost, newest_cost)
    total, newest_cost = total - back, newest_cost - back
    -- The head holds the newest entry that is worth anything. Where only the head is left, it is popped, and the log is gone.
    while newest_cost == 0 do
      local entry = call('RPOP', key, 2)
      newest_cost, newest = tonumber(entry[1]), tonumber(entry[2])
      if not newest_cost or not newest then
        call('DEL', key)
        return true
      end
    end
    call('LSET', key, 0, pack_numbers(THREE, tag, total, newest, newest_cost))
    return true
  end
  -- From the newest end, in chunks: what is given back is young.
  local last = -1
  while true do
    local chunk = call('LRANGE', key, last - 15, last)
    -- The head, which is a string of numbers, ends the entries.
    for n = #chunk - 1, 1, -2 do
      local at, entry_cost = tonumber(chunk[n]), tonumber(chunk[n + 1])
      if not at or not entry_cost or at < charged_at then
        return false
      elseif at == charged_at then
        local index = last - #chunk + n + 1
        local back = min(cost, entry_cost)
        call('LSET', key, index, string.format('%d', entry_cost - back))
        call('LSET', key, 0, pack_numbers(THREE, tag, total - back, newest, newest_cost))
        return back > 0
      end
    end
    if #chunk < 16 then
      return false
    end
    last = last - 16
  end
end

-- Gives back what is left of `cost` units: whether anything was.
local function refund(i, tag, a, b, c, now, cost, charged_at, finish)
  local algorithm, expires_at = tag % MILLIS, nil
  if algorithm == SLIDING_WINDOW_LOG then
    return log_refund(KEYS[i], tag, cost, charged_at)
  end
  local one, two, three = state_read(i, tag)
  if not one then
    return false
  end
  if algorithm == TOKEN_BUCKET then
    local _, token_bucket_expires_at, token_bucket_refund = token_bucket()
    one, two = token_bucket_refund(a, b, c, one, two, now, cost, charged_at)
    expires_at = one and token_bucket_expires_at(a, b, c, one, two)
  elseif algorithm == SLIDING_WINDOW_COUNTER then
    local _, sliding_window_counter_expires_at, sliding_window_counter_refund = sliding_window_counter()
    one, two, three = sliding_window_counter_refund(a, b, one, two, three, cost, charged_at)
    expires_at = one and sliding_window_counter_expires_at(a, b, one, two, three)
  elseif algorithm == FIXED_WINDOW then
    local _, fixed_window_expires_at, fixed_window_refund = fixed_window()
    -- Kept as (units, instant), as the buckets are.
    two, one = fixed_window_refund(a, b, two, one, cost, charged_at)
    expires_at = one and fixed_window_expires_at(a, b, two, one)
  elseif algorithm == ENDING_WINDOW then
    local _, ending_window_expires_at, ending_window_refund = ending_window()
    two, one = ending_window_refund(two, one, cost, finish)
    expires_at = one and ending_window_expires_at(two, one)
  else
    local _, leaky_bucket_expires_at, leaky_bucket_cancel = leaky_bucket()
    one, two = leaky_bucket_cancel(a, b, c, one, two, now, cost, finish)
    expires_at = one and leaky_bucket_expires_at(a, b, c, one, two)
  end
  if not one then
    return false
  end
  keep(i, tag, one, two, algorithm == SLIDING_WINDOW_COUNTER and three or nil, expires_at)
  return true
end

for position = 1, #batch, CHARGE_BYTES do
  local i, tag, a, b, c, cost, charged_at, finish, extra = unpack_numbers(CHARGE, batch, position)
  local now, answer = clock, 0
  if tag >= IS_MILLIS then
    now = floor_div(clock, 1000)
  end
  if extra > 0 then
    answer = top_up(i, tag, a, b, c, now, extra)
  elseif refund(i, tag, a, b, c, now, cost, charged_at, finish) then
    answer = 1
  end
  reply[#reply + 1] = pack_numbers('>I7', answer)
end
reply[1] = pack_numbers('>I7I4', clock, unreadable)
return table.concat(reply)

-- Gives charges back: those of a check that was denied elsewhere, and the slots of delayed requests that were cancelled.
--
-- KEYS: every key once. ARGV[1]: per charge the index of its key (2 bytes), the tag of its state (1 byte, see state.lua), three
-- numbers of its limit in the order of its decide function, unused ones 0, the cost, the tick at which it was charged, and the
-- tick at which the whole limit would have been available again (7 bytes each), big-endian. Replies with the number of
-- charges of which something was given back.

local CHARGE, CHARGE_BYTES = '>HBI7I7I7I7I7I7', 45
local batch, given = ARGV[1], 0

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

for position = 1, #batch, CHARGE_BYTES do
  local i, tag, a, b, c, cost, charged_at, finish = unpack_numbers(CHARGE, batch, position)
  local algorithm, now = tag % MILLIS, clock
  if tag >= IS_MILLIS then
    now = floor_div(clock, 1000)
  end
  local expires_at
  if algorithm == SLIDING_WINDOW_LOG then
    if log_refund(KEYS[i], tag, cost, charged_at) then
      given = given + 1
    end
  else
    local one, two, three = state_read(i, tag)
    if one then
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
    end
    if one then
      if algorithm == SLIDING_WINDOW_COUNTER then
        states[i] = pack_numbers(THREE, tag, one, two, three)
      else
        states[i] = pack_numbers(one < SMALL and TWO_SMALL or TWO, tag, one, two)
      end
      local at = string.format('%d', clock_expiry(expires_at, tag >= IS_MILLIS))
      call('SET', KEYS[i], states[i], 'PXAT', at)
      given = given + 1
    end
  end
end
return given

-- Executes a batch of checks, one after the other, each all or nothing. Hardly any functions: every function that a script
-- defines is made anew whenever it runs.
--
-- KEYS: every key once. ARGV[1]: per check the number of its items (2 bytes), then each item: the index of its key (2 bytes),
-- the tag of its states (1 byte, see state.lua), three numbers of its limit in the order of its decide function, unused ones
-- 0, and the cost, at most 2^53 (7 bytes each). Replies with one string: the instant in microseconds (7 bytes), the number of
-- unreadable states (4 bytes); per item verdict (1 byte), retry_after, remaining, reset_after and delay, times in ticks (7
-- bytes each). All numbers are big-endian.
--
-- ARGV[2], where a check has a calendar: per calendar four edges around the instant at which the caller's clock thinks it is (7
-- bytes each). The third number of such an item is where its calendar begins there. Where the present window is not among
-- them the verdict is UNPLACED, and the caller sends edges around the instant that it was told.

local ITEM, ANSWER, ITEM_BYTES = '>HBI7I7I7I7', '>BI7I7I7I7', 31
local EDGES, UNPLACED = '>I7I7I7I7', 3
local batch = ARGV[1]
local clock_millis = floor_div(clock, 1000)
-- The functions of an algorithm, once it is used.
local fixed_window_decide, fixed_window_expires_at, ending_window_decide, ending_window_expires_at
local sliding_window_counter_decide, sliding_window_counter_expires_at
local token_bucket_decide, token_bucket_expires_at, leaky_bucket_decide, leaky_bucket_expires_at
local log_decide, log_append, log_save

local reply, answers, position = { '', '' }, 1, 1
-- Per item of the check at hand: its new state.
local ones, twos, threes = { 0 }, { 0 }, { 0 }
-- Per key that is charged: whether nothing was seen there. MGET does not see values of other types.
local unseen = {}

while position <= #batch do
  local count, first = unpack_numbers('>H', batch, position)
  local admitted, is_peek = true, false
  local i, tag, a, b, c, cost
  repeat
    position = first
    for n = 1, count do
      i, tag, a, b, c, cost, position = unpack_numbers(ITEM, batch, position)
      -- The second time, where another item has denied: nothing is charged, and the balances are those without this request.
      if not is_peek or (cost > 0 and string.byte(reply[answers + n]) == ADMIT) then
        if is_peek then
          cost = 0
        end
        local algorithm, now = tag % MILLIS, clock
        if tag >= IS_MILLIS then
          now = clock_millis
        end
        local verdict, retry_after, remaining, reset_after, delay, one, two, three
        if algorithm == TOKEN_BUCKET then
          if not token_bucket_decide then
            token_bucket_decide, token_bucket_expires_at = token_bucket()
          end
          one, two = state_read(i, tag)
          verdict, retry_after, remaining, reset_after, delay, one, two = token_bucket_decide(a, b, c, one, two, now, cost)
        elseif algorithm == SLIDING_WINDOW_COUNTER then
          if not sliding_window_counter_decide then
            sliding_window_counter_decide, sliding_window_counter_expires_at = sliding_window_counter()
          end
          one, two, three = state_read(i, tag)
          verdict, retry_after, remaining, reset_after, delay, one, two, three =
            sliding_window_counter_decide(a, b, one, two, three, now, cost)
        elseif algorithm == SLIDING_WINDOW_LOG then
          if not log_decide then
            log_decide, log_append, log_save = log()
          end
          verdict, retry_after, remaining, reset_after, delay, one, two, three = log_decide(i, tag, a, b, now, cost)
        elseif algorithm == FIXED_WINDOW then
          if not fixed_window_decide then
            fixed_window_decide, fixed_window_expires_at = fixed_window()
          end
          -- Kept as (units, instant), as the buckets are.
          one, two = state_read(i, tag)
          verdict, retry_after, remaining, reset_after, delay, two, one = fixed_window_decide(a, b, two, one, now, cost)
        elseif algorithm == ENDING_WINDOW then
          if not ending_window_decide then
            ending_window_decide, ending_window_expires_at = ending_window()
          end
          one, two = state_read(i, tag)
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
          if finish or (two and two > now) then
            verdict, retry_after, remaining, reset_after, delay, two, one =
              ending_window_decide(a, b, finish, two, one, now, cost)
          else
            verdict, retry_after, remaining, reset_after, delay = UNPLACED, 0, 0, 0, 0
          end
        else
          if not leaky_bucket_decide then
            leaky_bucket_decide, leaky_bucket_expires_at = leaky_bucket()
          end
          one, two = state_read(i, tag)
          verdict, retry_after, remaining, reset_after, delay, one, two = leaky_bucket_decide(a, b, c, one, two, now, cost)
        end
        reply[answers + n] = pack_numbers(ANSWER, verdict, retry_after, remaining, reset_after, delay)
        ones[n], twos[n], threes[n] = one, two, three
        admitted = admitted and verdict == ADMIT
      end
    end
    is_peek = not is_peek and not admitted and count > 1
  until not is_peek

  for n = 1, admitted and count or 0 do
    if count > 1 then
      i, tag, a, b, c, cost = unpack_numbers(ITEM, batch, first + (n - 1) * ITEM_BYTES)
    end
    if cost > 0 then
      local algorithm, one, two, three, expires_at = tag % MILLIS, ones[n], twos[n], threes[n], nil
      if algorithm == SLIDING_WINDOW_LOG then
        expires_at = log_append(i, tag, b, one, two, three, cost)
      else
        if algorithm == TOKEN_BUCKET then
          expires_at = token_bucket_expires_at(a, b, c, one, two)
        elseif algorithm == SLIDING_WINDOW_COUNTER then
          expires_at = sliding_window_counter_expires_at(a, b, one, two, three)
        elseif algorithm == FIXED_WINDOW then
          expires_at = fixed_window_expires_at(a, b, two, one)
        elseif algorithm == ENDING_WINDOW then
          expires_at = ending_window_expires_at(two, one)
        else
          expires_at = leaky_bucket_expires_at(a, b, c, one, two)
        end
        if not states[i] and not logs[i] then
          unseen[i] = true
        end
        if three then
          states[i] = pack_numbers(THREE, tag, one, two, three)
        else
          states[i] = pack_numbers(one < SMALL and TWO_SMALL or TWO, tag, one, two)
        end
        logs[i] = nil
      end
      expiries[i] = clock_expiry(expires_at, tag >= IS_MILLIS)
    end
  end
  answers = answers + count
end

for i, expiry in pairs(expiries) do
  local key, value, at = KEYS[i], states[i], string.format('%d', expiry)
  if logs[i] then
    log_save(logs[i], at)
  elseif not unseen[i] then
    call('SET', key, value, 'PXAT', at)
  else
    local before = redis.pcall('SET', key, value, 'PXAT', at, 'GET')
    if before then
      local head = redis.pcall('LINDEX', key, 0)
      local found = type(head) == 'string' and state_parse(head)
      if not found or found % MILLIS ~= SLIDING_WINDOW_LOG then
        unreadable = unreadable + 1
      end
      call('SET', key, value, 'PXAT', at)
    end
  end
end
reply[1] = pack_numbers('>I7I4', clock, unreadable)
return table.concat(reply)

-- The states of the keys of this call, each read once and written once, however many checks share a key. All algorithms but
-- the log keep theirs in one string, big-endian: a tag, units and an instant (7 bytes each; units below 2^32 in 4, which
-- saves an allocator's size class), or for the sliding window counter start, previous and current (7 bytes each).
--
-- A tag is 16 (the layout's version) + 8 if a tick is a millisecond + the algorithm's number. A state of another tag was
-- made by an earlier limit of the key and counts as absent. What is no state at all counts as absent too, is counted, and
-- is overwritten when the key is next charged.

local call, pack_numbers, unpack_numbers = redis.call, struct.pack, struct.unpack
-- The leaky bucket is 5. An ending window is a fixed window that is kept by its end. 4 was a token bucket that was kept by what
-- it holds.
local FIXED_WINDOW, SLIDING_WINDOW_LOG, SLIDING_WINDOW_COUNTER, TOKEN_BUCKET, ENDING_WINDOW = 1, 2, 3, 7, 6
local MILLIS, IS_MILLIS = 8, 24
local TWO_SMALL, TWO, THREE, SMALL = '>BI4I7', '>BI7I7', '>BI7I7I7', 4294967296

-- Per key: the state's bytes; false where MGET shows none; true where there is something that counts as absent.
local states = call('MGET', unpack(KEYS))
-- Per key that has been charged: the instant at which its state may go, in Unix milliseconds. Per key whose log was asked
-- for: the log.
local expiries, logs = {}, {}
local unreadable = 0

-- The tag and the numbers of a state's bytes; nil where they are no state.
local function state_parse(value)
  local length = #value
  local format = length == 12 and TWO_SMALL or length == 15 and TWO or length == 22 and THREE
  if not format then
    return nil
  end
  -- After two numbers, the third is where the bytes end.
  local tag, one, two, three = unpack_numbers(format, value)
  local kind = tag % 8
  -- 2^53 ends the number domain.
  if tag < 17 or tag > 31 or kind < 1 or kind == 4 or (length == 22) ~= (kind == 2 or kind == 3) then
    return nil
  elseif one >= 9007199254740992 or two >= 9007199254740992 or three >= 9007199254740992 then
    return nil
  end
  return tag, one, two, three
end

-- The numbers of a key's state; nil where it has none of this tag.
local function state_read(i, tag)
  local value = states[i]
  if value and value ~= true then
    local found, one, two, three = state_parse(value)
    if found == tag then
      return one, two, three
    elseif not found then
      unreadable, states[i] = unreadable + 1, true
    end
  end
  return nil
end

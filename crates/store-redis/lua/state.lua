-- The states of the keys of this call, each read once and written once, however many checks share a key. All algorithms but
-- the log keep theirs in one string: a tag (layout version * 16 + algorithm) and numbers of 7 bytes, big-endian. Per key
-- index: the algorithm of the state it has (nil if absent), its numbers, and when it may go (nil while unchanged).

local FIXED_WINDOW, SLIDING_WINDOW_LOG, SLIDING_WINDOW_COUNTER, TOKEN_BUCKET, LEAKY_BUCKET = 1, 2, 3, 4, 5
local LAYOUT = 16

local state_algorithm, state_1, state_2, state_3, state_expiry, state_fresh = {}, {}, {}, {}, {}, {}
-- Values that are of another type or layout: taken for absent, counted, and overwritten when the key is next charged.
local unreadable = 0

local function state_load()
  local values = redis.call('MGET', unpack(KEYS))
  for i = 1, #KEYS do
    local value = values[i]
    if value then
      local tag, length = string.byte(value, 1) or 0, #value
      local algorithm = tag - LAYOUT
      if length == 15 and (algorithm == FIXED_WINDOW or algorithm == TOKEN_BUCKET or algorithm == LEAKY_BUCKET) then
        local _, one, two = struct.unpack('>BI7I7', value)
        state_algorithm[i], state_1[i], state_2[i] = algorithm, one, two
      elseif length == 22 and algorithm == SLIDING_WINDOW_COUNTER then
        local _, one, two, three = struct.unpack('>BI7I7I7', value)
        state_algorithm[i], state_1[i], state_2[i], state_3[i] = algorithm, one, two, three
      else
        unreadable = unreadable + 1
      end
    else
      state_fresh[i] = true
    end
  end
end

local function state_put(i, algorithm, expiry, one, two, three)
  state_algorithm[i], state_1[i], state_2[i], state_3[i], state_expiry[i] = algorithm, one, two, three, expiry
end

local function state_save()
  for i = 1, #KEYS do
    local expiry, algorithm = state_expiry[i], state_algorithm[i]
    if expiry and algorithm ~= SLIDING_WINDOW_LOG then
      local value
      if algorithm == SLIDING_WINDOW_COUNTER then
        value = struct.pack('>BI7I7I7', LAYOUT + algorithm, state_1[i], state_2[i], state_3[i])
      else
        value = struct.pack('>BI7I7', LAYOUT + algorithm, state_1[i], state_2[i])
      end
      local at = string.format('%.0f', clock_expiry(expiry))
      if state_fresh[i] then
        -- MGET shows a key of another type as absent; GET tells the two apart.
        local reply = redis.pcall('SET', KEYS[i], value, 'PXAT', at, 'GET')
        if type(reply) == 'table' and reply.err then
          unreadable = unreadable + 1
          redis.call('SET', KEYS[i], value, 'PXAT', at)
        end
      else
        redis.call('SET', KEYS[i], value, 'PXAT', at)
      end
    end
  end
end

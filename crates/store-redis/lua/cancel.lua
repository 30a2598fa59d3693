-- Takes back the slot of a delayed request that was cancelled.
--
-- KEYS: the key. ARGV: the tag of its state (see state.lua), rate, period and queue of its limit, the cost, and the tick at which
-- the bucket would have been empty when the request was admitted. Replies with 1 where the slot was taken back, else with 0.

local tag, rate, period, queue = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local cost, finish = tonumber(ARGV[5]), tonumber(ARGV[6])
local _, leaky_bucket_expires_at, leaky_bucket_cancel = leaky_bucket()

local backlog, at = state_read(1, tag)
if not backlog then
  return 0
end
local now = clock
if tag >= IS_MILLIS then
  now = floor_div(clock, 1000)
end
backlog, at = leaky_bucket_cancel(rate, period, queue, backlog, at, now, cost, finish)
if not backlog then
  return 0
end
local expires_at = clock_expiry(leaky_bucket_expires_at(rate, period, queue, backlog, at), tag >= IS_MILLIS)
local state = pack_numbers(backlog < SMALL and TWO_SMALL or TWO, tag, backlog, at)
call('SET', KEYS[1], state, 'PXAT', string.format('%d', expires_at))
return 1

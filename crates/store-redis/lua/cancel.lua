-- Takes back the slot of a delayed request that was cancelled.
--
-- KEYS: the key. ARGV[1]: the item as in shell.lua, its index 1, then the tick at which the bucket would have been empty when
-- the request was admitted (7 bytes). Replies with 1 where the slot was taken back, else with 0.

local _, tag, rate, period, queue, cost, finish = unpack_numbers('>HBI7I7I7I7I7', ARGV[1])
local now = clock
if tag >= IS_MILLIS then
  now = floor_div(clock, 1000)
end
local _, leaky_bucket_expires_at, leaky_bucket_cancel = leaky_bucket()
local backlog, at = state_read(1, tag)
if not backlog then
  return 0
end
backlog, at = leaky_bucket_cancel(rate, period, queue, backlog, at, now, cost, finish)
if not backlog then
  return 0
end
local expiry = clock_expiry(leaky_bucket_expires_at(rate, period, queue, backlog, at), tag >= IS_MILLIS)
call('SET', KEYS[1], pack_numbers(TWO, tag, backlog, at), 'PXAT', string.format('%d', expiry))
return 1

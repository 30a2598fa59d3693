-- Keys that are blocked for a time, for every node that shares the server.
--
-- KEYS[1]: a hash of canonical keys and the Unix milliseconds at which their blocks end; its empty field is the version, which grows
-- with every change. ARGV[1] is `read`, `block` or `unblock`.
--
-- read, the version that is known: replies with the version, and unless it is that one the present millisecond and the hash.
-- block, a key, milliseconds, the most blocks; or unblock, a key: replies with the milliseconds for which the key was blocked still,
-- -1 where it was not, -2 where there is no place for another.

local now = floor_div(clock, 1000)
local blocks, command, field = KEYS[1], ARGV[1], ARGV[2]
-- Whatever else somebody has put there is no version.
local version = string.match(redis.call('HGET', blocks, '') or '', '^%d+$') or '0'
if command == 'read' then
  if version == field then
    return { version }
  end
  return { version, string.format('%d', now), redis.call('HGETALL', blocks) }
end

local before, count, latest = -1, 0, 0
local all = redis.call('HGETALL', blocks)
for n = 1, #all, 2 do
  local finish = tonumber(all[n + 1]) or 0
  if all[n] == field then
    if finish > now then
      before = finish - now
    end
  elseif all[n] ~= '' then
    if finish > now then
      count, latest = count + 1, max(latest, finish)
    else
      redis.call('HDEL', blocks, all[n])
    end
  end
end
if command == 'block' then
  if count >= tonumber(ARGV[4]) then
    return -2
  end
  local finish = now + tonumber(ARGV[3])
  latest = max(latest, finish)
  redis.call('HSET', blocks, field, string.format('%d', finish))
else
  redis.call('HDEL', blocks, field)
end
-- A hash that is gone begins anew: by the clock, so that no version comes twice.
redis.call('HSET', blocks, '', string.format('%d', max(tonumber(version) + 1, clock)))
-- Long enough to tell everybody that nothing is blocked any more.
redis.call('PEXPIREAT', blocks, string.format('%d', clock_expiry(max(latest, now) + 60000, true)))
return before

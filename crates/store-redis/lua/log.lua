-- The states of sliding window logs: a list of a head (tag, sum of costs, tick and cost of the newest entry, packed like any
-- state), then tick and cost of each older entry, oldest first. Entries are read from the old end, in chunks that grow as a
-- decision asks for more, so nothing costs O(count).

local sliding_window_log_decide = sliding_window_log()

-- Takes the entries from the index `first` of a reply on that asked for `asked` elements.
local function log_take(log, chunk, first, asked)
  for n = first, #chunk, 2 do
    local at, cost = tonumber(chunk[n]), tonumber(chunk[n + 1])
    if not at or not cost then
      log.is_broken, log.is_complete = true, true
      return
    end
    log.read = log.read + 1
    log.at[log.read], log.cost[log.read] = at, cost
  end
  log.is_complete = #chunk < asked
end

-- An empty log; `is_there` where something is at the key that has to go first.
local function log_new(i, tag, is_there)
  local log = { key = KEYS[i], tag = tag, is_there = is_there, total = 0, at = {}, cost = {}, read = 0, gone = 0, is_complete = true }
  -- The n-th oldest entry that has not been dropped: its tick and cost. First those in the list, then the one that this
  -- call has pushed, then the newest.
  log.entry = function(n)
    n = n + log.gone
    while n > log.read and not log.is_complete do
      local first, asked = 1 + log.read * 2, 2 + log.read * 6
      log_take(log, call('LRANGE', log.key, first, first + asked - 1), 1, asked)
    end
    if n <= log.read then
      return log.at[n], log.cost[n]
    end
    n = n - log.read
    if log.pushed_at then
      if n == 1 then
        return log.pushed_at, log.pushed_cost
      end
      n = n - 1
    end
    if n == 1 then
      return log.newest, log.newest_cost
    end
    return nil
  end
  return log
end

local function log_load(i, tag)
  local log = logs[i]
  if not log and not states[i] then
    -- The head and the oldest entry: most decisions need no more.
    local chunk = redis.pcall('LRANGE', KEYS[i], 0, 2)
    local found, total, newest, newest_cost
    if chunk[1] then
      found, total, newest, newest_cost = state_parse(chunk[1])
    end
    if found and found % MILLIS == SLIDING_WINDOW_LOG then
      log = log_new(i, found, false)
      log.total, log.newest, log.newest_cost, log.is_stored = total, newest, newest_cost, true
      log_take(log, chunk, 2, 3)
    elseif chunk[1] or chunk.err then
      log, unreadable = log_new(i, tag, true), unreadable + 1
    else
      log = log_new(i, tag, false)
    end
    logs[i] = log
  end
  if log and log.tag == tag then
    return log
  end
  -- A state of another tag is there, or was.
  state_read(i, tag)
  return log_new(i, tag, true)
end

local function log_decide(i, tag, limit, window, now, cost)
  local log = log_load(i, tag)
  if log.newest and log.newest + window <= now then
    -- All of it has expired, and nothing needs to be counted.
    return sliding_window_log_decide(limit, window, log_new(i, tag, true).entry, 0, nil, now, cost)
  end
  local verdict, retry_after, remaining, reset_after, delay, expired, freed, at =
    sliding_window_log_decide(limit, window, log.entry, log.total, log.newest, now, cost)
  if log.is_broken then
    unreadable, logs[i] = unreadable + 1, log_new(i, tag, true)
    return log_decide(i, tag, limit, window, now, cost)
  end
  return verdict, retry_after, remaining, reset_after, delay, expired, freed, at
end

-- Drops `expired` entries that cost `freed` and adds one.
local function log_append(i, tag, window, expired, freed, at, cost)
  local log = log_load(i, tag)
  if log.newest and log.newest + window <= at then
    log = log_new(i, tag, true)
  end
  log.gone, log.total = log.gone + expired, log.total - freed + cost
  if log.newest == at then
    log.newest_cost = log.newest_cost + cost
  else
    log.pushed_at, log.pushed_cost = log.newest, log.newest_cost
    log.newest, log.newest_cost = at, cost
  end
  logs[i], states[i] = log, true
  return at + window
end

local function log_save(log, expiry)
  local key, head = log.key, pack_numbers(THREE, log.tag, log.total, log.newest, log.newest_cost)
  local stored_gone = min(log.gone, log.read)
  if log.is_there then
    call('DEL', key)
  end
  if not log.is_stored then
    call('RPUSH', key, head)
  elseif stored_gone > 0 then
    call('LPOP', key, 1 + stored_gone * 2)
    call('LPUSH', key, head)
  else
    call('LSET', key, 0, head)
  end
  if log.pushed_at and log.gone <= log.read then
    call('RPUSH', key, log.pushed_at, log.pushed_cost)
  end
  call('PEXPIREAT', key, expiry)
end

return log_decide, log_append, log_save, log_load

-- The states of sliding window logs: a list of layout version, sum of costs, then tick and cost of each entry, oldest
-- first. Entries are read from the old end in chunks as a decision asks for them, so nothing costs O(count).

local LOG_LAYOUT, LOG_CHUNK = 1, 16
local logs = {}

local function log_absent(i, is_unreadable)
  if is_unreadable then
    unreadable = unreadable + 1
  end
  return { key = KEYS[i], length = 0, read = 0, total = 0, gone = 0, added = 0, at = {}, cost = {}, broken = is_unreadable }
end

local function log_fetch(log)
  local first = 2 + log.read * 2
  local chunk = redis.call('LRANGE', log.key, first, first + LOG_CHUNK * 2 - 1)
  for j = 1, #chunk, 2 do
    log.read = log.read + 1
    log.at[log.read], log.cost[log.read] = tonumber(chunk[j]), tonumber(chunk[j + 1])
  end
  if log.read == log.length and log.merged then
    log.cost[log.read] = log.cost[log.read] + log.merged
  end
end

local function log_load(i)
  local log = logs[i]
  if log then
    return log
  end
  local count = redis.pcall('LLEN', KEYS[i])
  if type(count) == 'table' then
    log = log_absent(i, true)
  elseif count == 0 then
    log = log_absent(i, false)
  else
    local head = redis.call('LRANGE', KEYS[i], 0, 1)
    local newest = tonumber(redis.call('LINDEX', KEYS[i], -2))
    local total = tonumber(head[2])
    if tonumber(head[1]) ~= LOG_LAYOUT or count < 4 or count % 2 ~= 0 or not total or not newest then
      log = log_absent(i, true)
    else
      log = { key = KEYS[i], length = (count - 2) / 2, read = 0, total = total, newest = newest, gone = 0, added = 0, at = {}, cost = {} }
    end
  end
  -- The i-th oldest entry that has not been dropped: its tick and cost.
  log.entry = function(n)
    n = n + log.gone
    if n > log.length + log.added then
      return nil
    end
    while n > log.read and log.read < log.length do
      log_fetch(log)
    end
    return log.at[n], log.cost[n]
  end
  logs[i] = log
  return log
end

-- Drops `expired` entries that cost `freed` and adds one.
local function log_append(log, expired, freed, at, cost, expiry)
  log.gone, log.total, log.expiry = log.gone + expired, log.total - freed + cost, expiry
  if log.newest == at and log.gone < log.length + log.added then
    if log.added > 0 then
      log.cost[log.length + log.added] = log.cost[log.length + log.added] + cost
    else
      log.merged = (log.merged or 0) + cost
      if log.read == log.length then
        log.cost[log.length] = log.cost[log.length] + cost
      end
    end
  else
    log.added, log.newest = log.added + 1, at
    log.at[log.length + log.added], log.cost[log.length + log.added] = at, cost
  end
end

local function log_save()
  for i, log in pairs(logs) do
    if log.expiry then
      local key, number = log.key, '%.0f'
      if log.broken or log.gone >= log.length then
        redis.call('DEL', key)
        redis.call('RPUSH', key, LOG_LAYOUT, string.format(number, log.total))
      elseif log.gone > 0 then
        redis.call('LPOP', key, 2 + log.gone * 2)
        redis.call('LPUSH', key, string.format(number, log.total), LOG_LAYOUT)
      else
        redis.call('LSET', key, 1, string.format(number, log.total))
      end
      if log.merged and log.gone < log.length then
        redis.call('LSET', key, -1, string.format(number, tonumber(redis.call('LINDEX', key, -1)) + log.merged))
      end
      local first = max(log.length, log.gone) + 1
      for n = first, log.length + log.added do
        redis.call('RPUSH', key, string.format(number, log.at[n]), string.format(number, log.cost[n]))
      end
      redis.call('PEXPIREAT', key, string.format(number, clock_expiry(log.expiry)))
    end
  end
end

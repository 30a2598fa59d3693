-- crates/core/src/algorithm/leaky_bucket.rs. Returns verdict, retry_after, remaining, reset_after, delay and, where the
-- request is charged, the new state: backlog, at. An absent state is backlog == nil.

local function drained(rate, backlog, at, now)
  if backlog == nil then
    return 0, now
  end
  now = max(now, at)
  local elapsed = min(now - at, ceil_div(backlog, rate))
  return saturating_sub(backlog, elapsed * rate), now
end

local function leaky_bucket_decide(rate, period, queue, backlog, at, now, cost)
  local places = 0
  if rate ~= 0 then
    places = queue + 1
  end
  local full = places * period
  backlog, now = drained(rate, backlog, at, now)

  local verdict, retry_after, after, delay, charged = ADMIT, 0, backlog, 0, false
  if cost > places then
    verdict = IMPOSSIBLE
  elseif cost ~= 0 then
    -- Not `backlog + need > full`: a backlog that a larger limit has left may take the sum out of the domain.
    local need = cost * period
    local room = full - need
    if backlog > room then
      verdict, retry_after = DENY, ceil_div(backlog - room, rate)
    else
      after, delay, charged = backlog + need, ceil_div(backlog, rate), true
    end
  end
  local reset_after = ceil_div(after, rate)
  local remaining = floor_div(saturating_sub(full, after), period)
  if charged then
    return verdict, retry_after, remaining, reset_after, delay, after, now
  end
  return verdict, retry_after, remaining, reset_after, delay
end

local function leaky_bucket_expires_at(rate, period, queue, backlog, at)
  return at + ceil_div(backlog, rate)
end

-- The new state of a cancelled request's bucket: backlog, at; nothing where its slot has passed or somebody has queued
-- behind it.
local function leaky_bucket_cancel(rate, period, queue, backlog, at, now, cost, finish)
  -- Where more than one unit leaves per tick, ticks cannot tell who queued last.
  if leaky_bucket_expires_at(rate, period, queue, backlog, at) ~= finish or rate > period then
    return nil
  end
  backlog, now = drained(rate, backlog, at, now)
  if backlog < cost * period then
    return nil
  end
  return backlog - cost * period, now
end

-- The new state of a bucket that gets `units` back: backlog, at; nothing where there is nothing to give back.
local function leaky_bucket_grant(rate, period, queue, backlog, at, now, units)
  local places = 0
  if rate ~= 0 then
    places = queue + 1
  end
  backlog, now = drained(rate, backlog, at, now)
  backlog = min(backlog, places * period)
  local back = min(units, places) * period
  if backlog == 0 or back == 0 then
    return nil
  end
  return saturating_sub(backlog, back), now
end

return leaky_bucket_decide, leaky_bucket_expires_at, leaky_bucket_cancel, leaky_bucket_grant

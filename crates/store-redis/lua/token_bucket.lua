-- crates/core/src/algorithm/token_bucket.rs. Returns verdict, retry_after, remaining, reset_after, delay and, where the
-- request is charged, the new state: missing, at. An absent state is missing == nil.

local function lacking(refill, full, missing, at, now)
  if missing == nil then
    return 0, now
  end
  missing = min(missing, full)
  now = max(now, at)
  local elapsed = min(now - at, ceil_div(missing, refill))
  return saturating_sub(missing, elapsed * refill), now
end

local function token_bucket_decide(capacity, refill, period, missing, at, now, cost)
  local full = capacity * period
  missing, now = lacking(refill, full, missing, at, now)

  local verdict, retry_after, charged = ADMIT, 0, false
  if cost > capacity then
    verdict = IMPOSSIBLE
  else
    local after = missing + cost * period
    if after > full then
      verdict, retry_after = DENY, ceil_div(after - full, refill)
    else
      missing = after
      charged = cost > 0
    end
  end
  local reset_after = ceil_div(missing, refill)
  local remaining = floor_div(full - missing, period)
  if charged then
    return verdict, retry_after, remaining, reset_after, 0, missing, now
  end
  return verdict, retry_after, remaining, reset_after, 0
end

local function token_bucket_expires_at(capacity, refill, period, missing, at)
  return at + ceil_div(min(missing, capacity * period), refill)
end

-- The new state of a bucket that gets back what is left of `cost` units: missing, at; nothing where nothing is left of them.
local function token_bucket_refund(capacity, refill, period, missing, at, now, cost, charged_at)
  local full = capacity * period
  missing, now = lacking(refill, full, missing, at, now)
  local elapsed = min(saturating_sub(now, charged_at), ceil_div(full, refill))
  local left = saturating_sub(min(cost, capacity) * period, elapsed * refill)
  if left == 0 then
    return nil
  end
  return saturating_sub(missing, left), now
end

-- The new state of a bucket that gets `units` back: missing, at; nothing where there is nothing to give back.
local function token_bucket_grant(capacity, refill, period, missing, at, now, units)
  missing, now = lacking(refill, capacity * period, missing, at, now)
  local back = min(units, capacity) * period
  if missing == 0 or back == 0 then
    return nil
  end
  return saturating_sub(missing, back), now
end

return token_bucket_decide, token_bucket_expires_at, token_bucket_refund, token_bucket_grant

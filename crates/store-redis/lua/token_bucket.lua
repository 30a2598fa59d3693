-- crates/core/src/algorithm/token_bucket.rs. Returns verdict, retry_after, remaining, reset_after, delay and, where the
-- request is charged, the new state: level, at. An absent state is level == nil.

local function token_bucket_decide(capacity, refill, period, level, at, now, cost)
  local full = capacity * period
  if level == nil then
    level = full
  else
    now = max(now, at)
    local elapsed = min(now - at, ceil_div(full, refill))
    level = min(level + elapsed * refill, full)
  end

  local verdict, retry_after, charged = ADMIT, 0, false
  if cost > capacity then
    verdict = IMPOSSIBLE
  else
    local need = cost * period
    if level < need then
      verdict, retry_after = DENY, ceil_div(need - level, refill)
    else
      level = level - need
      charged = cost > 0
    end
  end
  local reset_after = ceil_div(full - level, refill)
  local remaining = floor_div(level, period)
  if charged then
    return verdict, retry_after, remaining, reset_after, 0, level, now
  end
  return verdict, retry_after, remaining, reset_after, 0
end

local function token_bucket_expires_at(capacity, refill, period, level, at)
  return at + ceil_div(saturating_sub(capacity * period, level), refill)
end

-- The new state of a bucket that gets back what is left of `cost` units: level, at; nothing where nothing is left of them.
local function token_bucket_refund(capacity, refill, period, level, at, now, cost, charged_at)
  local full = capacity * period
  now = max(now, at)
  level = min(level + min(now - at, ceil_div(full, refill)) * refill, full)
  local elapsed = min(saturating_sub(now, charged_at), ceil_div(full, refill))
  local left = saturating_sub(min(cost, capacity) * period, elapsed * refill)
  if left == 0 then
    return nil
  end
  return min(level + left, full), now
end

return token_bucket_decide, token_bucket_expires_at, token_bucket_refund

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

return token_bucket_decide, token_bucket_expires_at

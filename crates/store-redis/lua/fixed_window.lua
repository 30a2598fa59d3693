-- crates/core/src/algorithm/fixed_window.rs. Returns verdict, retry_after, remaining, reset_after, delay and, where the
-- request is charged, the new state: start, count. An absent state is start == nil.

local function fixed_window_decide(limit, window, seen, count, now, cost)
  seen, count = seen or 0, count or 0
  now = max(now, seen)
  local start = now - now % window
  if start ~= seen then
    count = 0
  end
  local left_in_window = start + window - now

  local after = count + cost
  local verdict, retry_after = ADMIT, 0
  if cost ~= 0 and after > limit then
    if cost > limit then
      verdict = IMPOSSIBLE
    else
      verdict, retry_after = DENY, left_in_window
    end
  end
  local charged = count
  if verdict == ADMIT then
    charged = after
  end
  local reset_after = 0
  if charged ~= 0 then
    reset_after = left_in_window
  end
  local remaining = saturating_sub(limit, charged)
  if verdict == ADMIT and cost > 0 then
    return verdict, retry_after, remaining, reset_after, 0, start, after
  end
  return verdict, retry_after, remaining, reset_after, 0
end

local function fixed_window_expires_at(limit, window, start, count)
  return start + window
end

-- The new state of a window that gets `cost` units back: start, count; nothing where the window charged has passed.
local function fixed_window_refund(limit, window, start, count, cost, charged_at)
  if charged_at - charged_at % window ~= start then
    return nil
  end
  return start, saturating_sub(count, cost)
end

-- The new state of a window that gets `units` back: start, count; nothing where there is nothing to give back.
local function fixed_window_grant(limit, window, seen, count, now, units)
  now = max(now, seen)
  local start = now - now % window
  count = min(count, limit)
  if start ~= seen or count == 0 or units == 0 then
    return nil
  end
  return start, saturating_sub(count, units)
end

return fixed_window_decide, fixed_window_expires_at, fixed_window_refund, fixed_window_grant

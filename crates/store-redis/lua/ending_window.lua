-- crates/core/src/algorithm/ending_window.rs. Returns verdict, retry_after, remaining, reset_after, delay and, where the
-- request is charged, the new state: end, count. An absent state is seen == nil. `finish` is the end of a window that begins
-- at `now`; it is not asked for where `seen` is later.

local function ending_window_decide(limit, longest, finish, seen, count, now, cost)
  seen = seen or 0
  if seen > now then
    finish = seen
  else
    count = 0
  end
  local left_in_window = min(finish - now, longest)

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
    return verdict, retry_after, remaining, reset_after, 0, finish, after
  end
  return verdict, retry_after, remaining, reset_after, 0
end

local function ending_window_expires_at(seen, count)
  return seen
end

-- The new state of a window that gets `cost` units back: end, count; nothing where the window charged, which ends at
-- `finish`, has passed.
local function ending_window_refund(seen, count, cost, finish)
  if finish ~= seen then
    return nil
  end
  return seen, saturating_sub(count, cost)
end

-- The new state of a window that gets `units` back: end, count; nothing where there is nothing to give back.
local function ending_window_grant(limit, seen, count, now, units)
  count = min(count, limit)
  if seen <= now or count == 0 or units == 0 then
    return nil
  end
  return seen, saturating_sub(count, units)
end

return ending_window_decide, ending_window_expires_at, ending_window_refund, ending_window_grant

-- crates/core/src/algorithm/sliding_window_counter.rs. Returns verdict, retry_after, remaining, reset_after, delay and,
-- where the request is charged, the new state: start, previous, current. An absent state is seen == nil.

local function elapsed_until(window, previous, room)
  if previous <= room then
    return 0
  end
  local fits = (room + 1) * window - 1
  return saturating_sub(window, floor_div(fits, previous))
end

local function wait(window, elapsed, previous, current, room)
  if room >= current then
    local at = elapsed_until(window, previous, room - current)
    if at < window then
      return saturating_sub(at, elapsed)
    end
  end
  return window - elapsed + elapsed_until(window, current, room)
end

local function sliding_window_counter_decide(limit, window, seen, previous, current, now, cost)
  seen, previous, current = seen or 0, previous or 0, current or 0
  now = max(now, seen)
  local elapsed = now % window
  local start = now - elapsed
  if start == seen + window then
    previous, current = current, 0
  elseif start ~= seen then
    previous, current = 0, 0
  end
  local left_in_window = window - elapsed
  local used = floor_div(previous * left_in_window, window) + current

  local after = used + cost
  local verdict, retry_after = ADMIT, 0
  if cost ~= 0 and after > limit then
    if cost > limit then
      verdict = IMPOSSIBLE
    else
      verdict, retry_after = DENY, wait(window, elapsed, previous, current, limit - cost)
    end
  end
  local charged = used
  if verdict == ADMIT then
    charged, current = after, current + cost
  end
  local reset_after = 0
  if charged ~= 0 then
    reset_after = wait(window, elapsed, previous, current, 0)
  end
  local remaining = saturating_sub(limit, charged)
  if verdict == ADMIT and cost > 0 then
    return verdict, retry_after, remaining, reset_after, 0, start, previous, current
  end
  return verdict, retry_after, remaining, reset_after, 0
end

local function sliding_window_counter_expires_at(limit, window, start, previous, current)
  if current == 0 then
    return start + window
  end
  return start + window + window
end

-- The new state of windows that get `cost` units back: start, previous, current; nothing where the window charged weighs no
-- more.
local function sliding_window_counter_refund(limit, window, start, previous, current, cost, charged_at)
  local charged_start = charged_at - charged_at % window
  if charged_start == start then
    return start, previous, saturating_sub(current, cost)
  elseif charged_start + window == start then
    return start, saturating_sub(previous, cost), current
  end
  return nil
end

-- The new state of windows that get `units` back: start, previous, current; nothing where there is nothing to give back. The
-- current window gets them before the previous one, which fades by itself.
local function sliding_window_counter_grant(limit, window, seen, previous, current, now, units)
  now = max(now, seen)
  local elapsed = now % window
  local start = now - elapsed
  if start == seen + window then
    previous, current = current, 0
  elseif start ~= seen then
    previous, current = 0, 0
  end
  local left_in_window = window - elapsed
  local weight = floor_div(previous * left_in_window, window)
  local used = weight + current
  if min(used, limit) == 0 or units == 0 then
    return nil
  end
  local target = saturating_sub(min(used, limit), units)
  current = saturating_sub(current, saturating_sub(used, target))
  local heavy = saturating_sub(target, current)
  if weight > heavy then
    previous = floor_div((heavy + 1) * window - 1, left_in_window)
  end
  return start, previous, current
end

return sliding_window_counter_decide, sliding_window_counter_expires_at, sliding_window_counter_refund,
  sliding_window_counter_grant

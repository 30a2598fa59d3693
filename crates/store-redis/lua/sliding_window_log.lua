-- crates/core/src/algorithm/sliding_window_log.rs. The log is read through two functions, so that a decision costs
-- O(expired + 1) and never O(count): entry(i) is the tick and cost of the i-th oldest entry, or nil; total is the sum of
-- all costs, newest the tick of the newest entry or nil. Returns verdict, retry_after, remaining, reset_after, delay, the
-- number of expired entries, what they cost and, where the request is charged, the tick to append at.

local function sliding_window_log_decide(limit, window, entry, total, newest, now, cost)
  if newest then
    now = max(now, newest)
  end

  local live, expired = total, 0
  local at, entry_cost = entry(1)
  while at and at + window <= now do
    live, expired = live - entry_cost, expired + 1
    at, entry_cost = entry(expired + 1)
  end
  local after = live + cost
  local verdict, retry_after = ADMIT, 0
  if cost ~= 0 and after > limit then
    if cost > limit then
      verdict = IMPOSSIBLE
    else
      -- Not `after - limit`: a sum of units may leave the domain, a difference does not.
      local must_leave, next_entry = live - (limit - cost), expired + 1
      verdict, retry_after = DENY, window
      while at do
        retry_after = at + window - now
        must_leave = saturating_sub(must_leave, entry_cost)
        if must_leave == 0 then
          break
        end
        next_entry = next_entry + 1
        at, entry_cost = entry(next_entry)
      end
    end
  end
  if verdict == ADMIT and cost > 0 then
    return verdict, retry_after, saturating_sub(limit, after), window, 0, expired, total - live, now
  end
  local reset_after = 0
  if live ~= 0 then
    reset_after = newest + window - now
  end
  return verdict, retry_after, saturating_sub(limit, live), reset_after, 0, expired, total - live
end

-- How much of the newest entries has to go so that `units` are given back.
local function sliding_window_log_grant(limit, window, entry, total, newest, now, units)
  if newest then
    now = max(now, newest)
  end
  local live, expired = total, 0
  local at, entry_cost = entry(1)
  while at and at + window <= now do
    live, expired = live - entry_cost, expired + 1
    at, entry_cost = entry(expired + 1)
  end
  if units == 0 then
    return 0
  end
  return saturating_sub(live, saturating_sub(min(live, limit), units))
end

return sliding_window_log_decide, sliding_window_log_grant

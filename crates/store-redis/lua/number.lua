-- The number domain of crates/core/src/number.rs: integers in [0, 2^53), which Lua's doubles hold exactly. Within it a
-- quotient's floor is exact too, since its rounding error is smaller than its distance to the next integer.

local function ceil_div(a, b)
  if b == 0 then
    return 0
  end
  local rest = a % b
  local floor = (a - rest) / b
  if rest > 0 then
    return floor + 1
  end
  return floor
end

local function floor_div(a, b)
  if b == 0 then
    return 0
  end
  return (a - a % b) / b
end

local function saturating_sub(a, b)
  if a > b then
    return a - b
  end
  return 0
end

local function max(a, b)
  if a > b then
    return a
  end
  return b
end

local function min(a, b)
  if a < b then
    return a
  end
  return b
end

-- Verdicts, as crates/core/src/decision.rs names them.
local ADMIT, DENY, IMPOSSIBLE = 0, 1, 2

-- Moves what is counted under one key to another one, whose limit has the same algorithm and other numbers: what still counts there
-- is charged here, as far as there is room, and the first key is gone.
--
-- KEYS: the two. ARGV[1]: two checks as shell.lua wants them, each of one peek: of the first key, and of the second. ARGV[2]: edges
-- of calendars as shell.lua wants them, which may be none. ARGV[3]: what the first limit holds (7 bytes, big-endian). Replies with
-- one string: the instant in microseconds (7 bytes), the number of unreadable states (4 bytes), and whether it was done (1 byte): 0
-- where the present window of a calendar is not among those that were sent, and nothing has changed.

-- Of a reply of shell.lua: where the verdict and what remains of the second answer begin. Of a check: where its item ends.
local FIRST, SECOND, REMAINING, CHECK_BYTES = 12, 41, 8, 33

local reply = shell()
local head = string.sub(reply, 1, FIRST - 1)
local done = string.byte(reply, FIRST) ~= 3 and string.byte(reply, SECOND) ~= 3
if done then
  local quota = unpack_numbers('>I7', ARGV[3], 1)
  local used = quota - unpack_numbers('>I7', reply, FIRST + REMAINING)
  local cost = min(used, unpack_numbers('>I7', reply, SECOND + REMAINING))
  if cost > 0 then
    ARGV[1] = string.sub(ARGV[1], CHECK_BYTES + 1, 2 * CHECK_BYTES - 7) .. pack_numbers('>I7', cost)
    head = string.sub(shell(), 1, FIRST - 1)
  end
  if used > 0 then
    call('DEL', KEYS[1])
  end
end
return head .. pack_numbers('>B', done and 1 or 0)

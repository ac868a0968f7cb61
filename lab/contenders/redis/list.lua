-- Answers the rank of the first of some members, how many the board has, and those members, each followed by its score: the first ARGV[2], or with a
-- member ARGV[1] those up to ARGV[2] places from it, or nil without it. The keys are those of submit.lua.
local first, last = 0, ARGV[2] - 1
if ARGV[1] ~= "" then
  local entry = redis.call("HGET", KEYS[2], ARGV[1])
  if not entry then return false end
  local middle = redis.call("ZREVRANK", KEYS[1], entry)
  first, last = math.max(middle - ARGV[2], 0), middle + ARGV[2]
end
local members = redis.call("ZREVRANGE", KEYS[1], first, last, "WITHSCORES")
for place = 1, #members, 2 do members[place] = members[place]:sub(18) end
return { first + 1, redis.call("ZCARD", KEYS[1]), members }

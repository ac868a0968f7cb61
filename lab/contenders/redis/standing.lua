-- Answers rank and score of the member ARGV[1] on a board, or nil; the keys are those of submit.lua.
local entry = redis.call("HGET", KEYS[2], ARGV[1])
return entry and { redis.call("ZREVRANK", KEYS[1], entry) + 1, redis.call("ZSCORE", KEYS[1], entry) }

-- Keeps the better score of the member ARGV[1] with the score ARGV[2] on a board: the sorted set KEYS[1] and the hash KEYS[2] of each member's entry in
-- it. Of equal scores the first is before: an entry begins with a number that falls from submission to submission. Answers rank, score, the rank and the
-- score before (-1 and the empty text when there were none), and 1 when it has changed. One round trip, for all contenders that keep boards in Redis.
local scores, entries, member, score = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local old = redis.call("HGET", entries, member)
local previous_rank, previous_score = -1, ""
if old then
  previous_rank, previous_score = redis.call("ZREVRANK", scores, old) + 1, redis.call("ZSCORE", scores, old)
  if tonumber(previous_score) >= score then return { previous_rank, previous_score, previous_rank, previous_score, 0 } end
  redis.call("ZREM", scores, old)
end
-- No member has the empty name.
local entry = string.format("%016.0f:%s", 9007199254740992 - redis.call("HINCRBY", entries, "", 1), member)
redis.call("ZADD", scores, ARGV[2], entry)
redis.call("HSET", entries, member, entry)
return { redis.call("ZREVRANK", scores, entry) + 1, ARGV[2], previous_rank, previous_score, 1 }

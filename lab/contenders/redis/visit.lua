-- Counts a visit of the link in the hash KEYS[1] at the time ARGV[1], and answers its target, status and limit; nil when it does not redirect. One round
-- trip, for all contenders that keep links in Redis.
local target, status, max_visits, visits, not_before, expires_at =
  unpack(redis.call("HMGET", KEYS[1], "target", "status", "max_visits", "visits", "not_before", "expires_at"))
if not target then return false end
if max_visits and tonumber(visits) >= tonumber(max_visits) then return false end
if not_before and not_before > ARGV[1] or expires_at and expires_at <= ARGV[1] then return false end
redis.call("HINCRBY", KEYS[1], "visits", 1)
return { target, status, max_visits }

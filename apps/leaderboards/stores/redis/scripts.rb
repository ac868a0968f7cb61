# frozen_string_literal: true

require_relative "scripts/parts"

module Leaderboards
  module Stores
    class Redis
      # The operations that must be one step on the server. Each script gets the key of a board's current season and derives the
      # others, which have the same hash tag and so are on one node of a cluster. It returns `new` for a board without a season,
      # and `gone` for a deleted one.
      module Scripts
        # ARGV: member, sort key, operator, style, directions, ties, the most members, metadata (empty: unchanged),
        # Idempotency-Key (empty: none), digest of the request, seconds that the reply is kept, seconds that changes are kept for
        # readers of the feed, and the mode: `check` changes nothing, `decided` counts in a full board. With `check` follow the
        # submissions that come before in the same request: the number of other members, their names, then sort key and operator of
        # each submission of this member. Returns rank and sort key, both of before, whether anything changed, and whether the reply
        # is a stored one; or why the submission is refused.
        SUBMIT = <<~LUA
          #{Parts::BOARD}
          #{Parts::RANKS}
          #{Parts::ARITHMETIC}
          local member, submitted, operator, style, directions, ties, members_max = unpack(ARGV)
          local metadata, request, digest, kept_seconds, followed_seconds, meant = unpack(ARGV, 8)
          width, tied_by_member = #submitted, ties == 'member'
          if request ~= '' then
            request = stem .. ':request:' .. request
            local kept = redis.call('GET', request)
            if kept then
              local reply = cmsgpack.unpack(kept)
              if reply[1] ~= digest then return {'mismatch'} end
              return {reply[2], reply[3], reply[4], reply[5], reply[6], 1}
            end
          end

          local banned = redis.call('SISMEMBER', stem .. ':banned', member) == 1
          local main = keys_of(current, false)
          local keys = banned and keys_of(current, true) or main
          local function rank(score, element)
            if banned then return with_guest(main, member, score, function(place) return rank_of(main, style, score, place) end) end
            return rank_of(main, style, score, element .. member)
          end

          local element = redis.call('HGET', keys.members, member)
          local old = element and string.sub(element, 1, width)
          local score = submitted
          local size = redis.call('HLEN', keys.members)
          if meant == 'check' then
            local last_other = 14 + ARGV[14]
            for i = 15, last_other do size = size + 1 - redis.call('HEXISTS', keys.members, ARGV[i]) end
            for i = last_other + 1, #ARGV, 2 do
              old = not old and ARGV[i] or after(ARGV[i + 1], old, ARGV[i], directions, ties) or old
            end
          end
          if old then
            score = after(operator, old, submitted, directions, ties)
            if score == nil then return {'out_of_range', old} end
          elseif meant ~= 'decided' and size >= tonumber(members_max) then
            return {'full'}
          end
          if meant == 'check' then return {0, score or old} end

          local previous_rank = old and rank(old, element)
          local reply
          if score then
            local tie = ''
            if ties == 'earliest' then
              local sequence = redis.call('INCR', stem .. ':sequence')
              tie = struct.pack('>I4I4', math.floor(sequence / 4294967296), sequence % 4294967296)
            end
            if old then take(keys, member) end
            add(keys, member, score .. tie)
            reply = {rank(score, score .. tie), score, previous_rank, old, 1, 0}
            if not banned and redis.call('EXISTS', stem .. ':log_id') == 1 then
              redis.call('RPUSH', stem .. ':changes', cmsgpack.pack({member, reply[1], reply[2], reply[3], reply[4]}))
              redis.call('LTRIM', stem .. ':changes', -1000, -1)
              redis.call('INCR', stem .. ':changed')
              redis.call('EXPIRE', stem .. ':changes', followed_seconds)
              redis.call('EXPIRE', stem .. ':changed', followed_seconds)
            end
          else
            reply = {previous_rank, old, previous_rank, old, 0, 0}
          end
          if metadata == 'null' then
            redis.call('HDEL', stem .. ':metadata', member)
          elseif metadata ~= '' then
            redis.call('HSET', stem .. ':metadata', member, metadata)
          end
          if request ~= '' then
            redis.call('SET', request, cmsgpack.pack({digest, reply[1], reply[2], reply[3], reply[4], reply[5]}), 'EX', kept_seconds)
          end
          return reply
        LUA

        # ARGV: season (empty: the current one), style, bytes of a sort key, bytes before a member's name, and the query: `range`
        # and two positions; `around` or `one`, a member and a distance; `after` or `before`, a position in the order and a
        # number; `between`, two points of the order (empty: open), an offset and a number; `list` and members. Returns season,
        # the number of members, the first position (of `between` the total number, of `one` the members including a banned one),
        # then place, rank and metadata of each; false for a missing member.
        ROWS = <<~LUA
          #{Parts::BOARD}
          #{Parts::RANKS}
          local season, style, what = ARGV[1], ARGV[2], ARGV[5]
          local head
          width, head = tonumber(ARGV[3]), tonumber(ARGV[4])
          tied_by_member = head == width
          if season == '' then season = current elseif redis.call('HEXISTS', stem .. ':seasons', season) == 0 then return {'no_season'} end
          local keys = keys_of(season, false)
          local size = redis.call('ZCARD', keys.order)
          local rows = {season, size, 0}
          local has_metadata = redis.call('EXISTS', stem .. ':metadata') == 1

          local function push(place, rank, member)
            rows[#rows + 1] = place
            rows[#rows + 1] = rank
            rows[#rows + 1] = has_metadata and redis.call('HGET', stem .. ':metadata', member)
          end
          local function push_member(member)
            local element = redis.call('HGET', keys.members, member)
            if not element then
              rows[#rows + 1], rows[#rows + 2], rows[#rows + 3] = false, false, false
              return
            end
            push(element .. member, rank_of(keys, style, string.sub(element, 1, width), element .. member), member)
          end
          local function push_range(first, last)
            if what ~= 'between' then rows[3] = first end
            if last < first then return end
            local known, rank
            for at, place in ipairs(redis.call('ZRANGE', keys.order, first, last)) do
              local score = string.sub(place, 1, width)
              if style == 'ordinal' then
                rank = first + at
              elseif score ~= known then
                known, rank = score, rank_of(keys, style, score)
              end
              push(place, rank, string.sub(place, head + 1))
            end
          end

          local function around(place)
            local position = redis.call('ZRANK', keys.order, place)
            push_range(math.max(position - tonumber(ARGV[7]), 0), position + tonumber(ARGV[7]))
            return rows
          end
          local function one(place, score, member)
            rows[3] = redis.call('ZCARD', keys.order)
            push(place, rank_of(keys, style, score, place), member)
            return rows
          end

          if what == 'list' then
            for at = 6, #ARGV do push_member(ARGV[at]) end
          elseif what == 'around' or what == 'one' then
            local member = ARGV[6]
            local read = what == 'around' and around or one
            local element = redis.call('HGET', keys.members, member)
            if element then return read(element .. member, string.sub(element, 1, width), member) end
            local hidden = redis.call('HGET', keys_of(season, true).members, member)
            if not hidden then return rows end
            local score = string.sub(hidden, 1, width)
            return with_guest(keys, member, score, function(place) return read(place, score, member) end)
          elseif what == 'after' then
            local first = before(keys.order, '[' .. ARGV[6])
            push_range(first, first + tonumber(ARGV[7]) - 1)
          elseif what == 'before' then
            local last = before(keys.order, '(' .. ARGV[6]) - 1
            push_range(math.max(last - tonumber(ARGV[7]) + 1, 0), last)
          elseif what == 'between' then
            local start = ARGV[6] == '' and 0 or before(keys.order, '(' .. ARGV[6])
            local stop = ARGV[7] == '' and size or before(keys.order, '(' .. ARGV[7])
            rows[3] = math.max(stop - start, 0)
            local first = start + tonumber(ARGV[8])
            push_range(first, math.min(stop, first + tonumber(ARGV[9])) - 1)
          else
            push_range(tonumber(ARGV[6]), tonumber(ARGV[7]))
          end
          return rows
        LUA

        # The changes for a feed. ARGV: the ID of the log that the reader has read, the number of its last change, an ID for a new log,
        # seconds for which changes are recorded from now on. Returns season, size, ID of the log, the number of the last change, and
        # the changes since; false if some of them are no longer in the log.
        CHANGES = <<~LUA
          #{Parts::BOARD}
          redis.call('SET', stem .. ':log_id', ARGV[3], 'NX')
          for _, name in ipairs({'log_id', 'changes', 'changed'}) do redis.call('EXPIRE', stem .. ':' .. name, ARGV[4]) end
          local log_id = redis.call('GET', stem .. ':log_id')
          local number = tonumber(redis.call('GET', stem .. ':changed') or 0)
          local missing = number - tonumber(ARGV[2])
          local changes = false
          if log_id == ARGV[1] and missing >= 0 and missing <= redis.call('LLEN', stem .. ':changes') then
            changes = {}
            if missing > 0 then
              for at, packed in ipairs(redis.call('LRANGE', stem .. ':changes', -missing, -1)) do changes[at] = cmsgpack.unpack(packed) end
            end
          end
          return {current, redis.call('ZCARD', keys_of(current, false).order), log_id, number, changes}
        LUA

        # ARGV: member, metadata (null: none). Returns whether the member exists.
        METADATA = <<~LUA
          #{Parts::BOARD}
          local member, metadata = unpack(ARGV)
          local is_there = 0
          for _, shadow in ipairs({false, true}) do
            if redis.call('HEXISTS', keys_of(current, shadow).members, member) == 1 then is_there = 1 end
          end
          if is_there == 1 and metadata == 'null' then
            redis.call('HDEL', stem .. ':metadata', member)
          elseif is_there == 1 then
            redis.call('HSET', stem .. ':metadata', member, metadata)
          end
          return {is_there}
        LUA

        # ARGV: bytes of a sort key, member, whether to delete all its data. Returns whether the member existed.
        DELETE = <<~LUA
          #{Parts::BOARD}
          width = tonumber(ARGV[1])
          local seasons = ARGV[3] == '1' and redis.call('HKEYS', stem .. ':seasons') or {current}
          local was_there = 0
          for _, season in ipairs(seasons) do
            for _, shadow in ipairs({false, true}) do
              if take(keys_of(season, shadow), ARGV[2]) then was_there = 1 end
            end
          end
          if ARGV[3] == '1' then
            redis.call('HDEL', stem .. ':metadata', ARGV[2])
            redis.call('SREM', stem .. ':banned', ARGV[2])
          end
          return {was_there}
        LUA

        # ARGV: bytes of a sort key, member, whether to ban it. Returns whether that changed anything.
        BAN = <<~LUA
          #{Parts::BOARD}
          width = tonumber(ARGV[1])
          local ban = ARGV[3] == '1'
          if redis.call(ban and 'SADD' or 'SREM', stem .. ':banned', ARGV[2]) == 0 then return {0} end
          local element = take(keys_of(current, not ban), ARGV[2])
          if element then add(keys_of(current, ban), ARGV[2], element) end
          return {1}
        LUA

        # ARGV: bytes of a sort key, bytes before a member's name, how many stay, how many are removed at once. Returns how many
        # were removed.
        TRIM = <<~LUA
          #{Parts::BOARD}
          width = tonumber(ARGV[1])
          local keys = keys_of(current, false)
          local first = math.max(tonumber(ARGV[3]), redis.call('ZCARD', keys.order) - tonumber(ARGV[4]))
          local places = redis.call('ZRANGE', keys.order, first, -1)
          for _, place in ipairs(places) do take(keys, string.sub(place, tonumber(ARGV[2]) + 1)) end
          return {#places}
        LUA

        # Ends a season and its log for the feed, and begins the next, unless that has happened. ARGV: the season to end (empty:
        # there is none yet), the time, begin and planned end of the next one, how many are kept. Returns the current season and
        # its data.
        ADVANCE = <<~LUA
          local stem = string.sub(KEYS[1], 1, -8)
          local current = redis.call('GET', KEYS[1])
          if current == 'gone' then return {'gone'} end
          if (current or '') == ARGV[1] then
            if current then
              local begins_at, ends_at = string.match(redis.call('HGET', stem .. ':seasons', current), '^(%d+) (%d+)')
              redis.call('HSET', stem .. ':seasons', current, begins_at .. ' ' .. ends_at .. ' ' .. ARGV[2])
            end
            current = tostring((tonumber(current) or 0) + 1)
            redis.call('SET', KEYS[1], current)
            redis.call('DEL', stem .. ':log_id', stem .. ':changes', stem .. ':changed')
            redis.call('HSET', stem .. ':seasons', current, ARGV[3] .. ' ' .. ARGV[4] .. ' 0')
            for _, season in ipairs(redis.call('HKEYS', stem .. ':seasons')) do
              if tonumber(season) < tonumber(current) - tonumber(ARGV[5]) then
                redis.call('HDEL', stem .. ':seasons', season)
                #{Parts.unlink("season")}
              end
            end
          end
          return {current, redis.call('HGET', stem .. ':seasons', current)}
        LUA

        # Deletes the board permanently.
        REMOVE = <<~LUA
          local stem = string.sub(KEYS[1], 1, -8)
          for _, season in ipairs(redis.call('HKEYS', stem .. ':seasons')) do
            #{Parts.unlink("season")}
          end
          redis.call('UNLINK', stem .. ':seasons', stem .. ':metadata', stem .. ':banned', stem .. ':sequence',
            stem .. ':log_id', stem .. ':changes', stem .. ':changed')
          redis.call('SET', KEYS[1], 'gone')
          return {1}
        LUA
      end
    end
  end
end

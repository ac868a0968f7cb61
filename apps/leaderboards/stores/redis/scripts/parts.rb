# frozen_string_literal: true

module Leaderboards
  module Stores
    class Redis
      module Scripts
        # The common beginnings of several scripts.
        #
        # Lua has no 64-bit integers, and its comparison of texts depends on the locale. So scores are sort keys of eight bytes
        # for each component, compared and added in halves of 32 bits, which its numbers represent exactly.
        module Parts
          # The keys of a board; adding and removing a member.
          BOARD = <<~LUA
            local stem = string.sub(KEYS[1], 1, -8)
            local current = redis.call('GET', KEYS[1])
            if not current then return {'new'} end
            if current == 'gone' then return {'gone'} end
            local width, tied_by_member

            local function keys_of(season, shadow)
              local start = stem .. ':' .. season .. (shadow and '!:' or ':')
              return {order = start .. 'order', members = start .. 'members', distinct = start .. 'distinct', counts = start .. 'counts'}
            end

            local function add(keys, member, element)
              local score = string.sub(element, 1, width)
              redis.call('HSET', keys.members, member, element)
              redis.call('ZADD', keys.order, 0, element .. member)
              if redis.call('HINCRBY', keys.counts, score, 1) == 1 then redis.call('ZADD', keys.distinct, 0, score) end
            end

            local function take(keys, member)
              local element = redis.call('HGET', keys.members, member)
              if not element then return false end
              local score = string.sub(element, 1, width)
              redis.call('HDEL', keys.members, member)
              redis.call('ZREM', keys.order, element .. member)
              if redis.call('HINCRBY', keys.counts, score, -1) == 0 then
                redis.call('HDEL', keys.counts, score)
                redis.call('ZREM', keys.distinct, score)
              end
              return element
            end
          LUA

          # Ranks in every style, and those that a banned member would have: a function can run with the member included, behind
          # its equals.
          RANKS = <<~LUA
            local function before(key, last) return redis.call('ZLEXCOUNT', key, '-', last) end
            local ranks = {
              dense = function(keys, score) return redis.call('ZRANK', keys.distinct, score) + 1 end,
              competition = function(keys, score) return before(keys.order, '(' .. score) + 1 end,
              modified = function(keys, score) return before(keys.order, '(' .. score .. '\\255') end,
            }
            ranks.fractional = function(keys, score) return tostring((ranks.competition(keys, score) + ranks.modified(keys, score)) / 2) end
            local function rank_of(keys, style, score, place)
              if style == 'ordinal' then return redis.call('ZRANK', keys.order, place) + 1 end
              return ranks[style](keys, score)
            end
            local function with_guest(keys, member, score, work)
              local element = score .. (tied_by_member and '' or string.rep('\\254', 8))
              add(keys, member, element)
              local reply = work(element .. member)
              take(keys, member)
              return reply
            end
          LUA

          # The result of an operator for a current and a submitted score: nil if a sum is out of range, false if nothing changes.
          ARITHMETIC = <<~LUA
            local function ranks_first(a, b)
              for at = 1, width, 4 do
                local one, other = struct.unpack('>I4', a, at), struct.unpack('>I4', b, at)
                if one ~= other then return one < other end
              end
              return false
            end

            local function halves(score, component, directions)
              local high, low = struct.unpack('>I4I4', score, component * 8 - 7)
              if string.sub(directions, component, component) == 'd' then high, low = 4294967295 - high, 4294967295 - low end
              return high - 2147483648, low
            end

            local function compare(a, b, directions)
              for component = 1, #directions do
                local high, low = halves(a, component, directions)
                local other_high, other_low = halves(b, component, directions)
                if high ~= other_high then return high - other_high end
                if low ~= other_low then return low - other_low end
              end
              return 0
            end

            local function sum(a, b, directions)
              local words = {}
              for component = 1, #directions do
                local high, low = halves(a, component, directions)
                local by_high, by_low = halves(b, component, directions)
                high, low = high + by_high, low + by_low
                if low > 4294967295 then high, low = high + 1, low - 4294967296 end
                if high < -2147483648 or high > 2147483647 then return nil end
                high = high + 2147483648
                if string.sub(directions, component, component) == 'd' then high, low = 4294967295 - high, 4294967295 - low end
                words[component] = struct.pack('>I4I4', high, low)
              end
              return table.concat(words)
            end

            local function after(operator, old, submitted, directions, ties)
              local replaces
              if operator == 'increment' then
                local total = sum(old, submitted, directions)
                if total == nil then return nil end
                return total ~= old and total
              elseif operator == 'best' then replaces = ranks_first(submitted, old)
              elseif operator == 'min' then replaces = compare(submitted, old, directions) < 0
              elseif operator == 'max' then replaces = compare(submitted, old, directions) > 0
              elseif operator == 'last' then replaces = ties == 'earliest' or submitted ~= old
              else replaces = submitted ~= old end
              return replaces and submitted
            end
          LUA

          # @param season [String] a variable
          # @return [String] Lua that deletes its members
          def self.unlink(season)
            <<~LUA.gsub(/\s*\n/, " ")
              for _, part in ipairs({'order', 'members', 'distinct', 'counts'}) do
                redis.call('UNLINK', stem .. ':' .. #{season} .. ':' .. part, stem .. ':' .. #{season} .. '!:' .. part)
              end
            LUA
          end
        end
      end
    end
  end
end

# frozen_string_literal: true

module Links
  module Stores
    class Redis
      # The operations that must be one step on the server. Each script uses one key, so it runs in a cluster too.
      module Scripts
        # Creates the link unless it exists. Returns the details of the existing one, or nothing.
        CREATE = <<~LUA
          if redis.call('HEXISTS', KEYS[1], 'redirect') == 1 then
            return redis.call('HGET', KEYS[1], 'details')
          end
          redis.call('HSET', KEYS[1], 'redirect', ARGV[1], 'details', ARGV[2], 'visits', ARGV[3])
          return false
        LUA

        # Changes the link if it is unchanged since it was read: 1, otherwise 0.
        UPDATE = <<~LUA
          local now = redis.call('HMGET', KEYS[1], 'redirect', 'details')
          if now[1] ~= ARGV[1] or now[2] ~= ARGV[2] then
            return 0
          end
          redis.call('HSET', KEYS[1], 'redirect', ARGV[3], 'details', ARGV[4])
          return 1
        LUA

        # Deletes the link if it is unchanged since it was read: 1, otherwise 0.
        DELETE = <<~LUA
          local now = redis.call('HMGET', KEYS[1], 'redirect', 'details')
          if now[1] ~= ARGV[1] or now[2] ~= ARGV[2] then
            return 0
          end
          return redis.call('DEL', KEYS[1])
        LUA

        # Counts a visit if there are fewer than the limit: 1, otherwise 0.
        TAKE_VISIT = <<~LUA
          local visits = redis.call('HGET', KEYS[1], 'visits')
          if not visits or tonumber(visits) >= tonumber(ARGV[1]) then
            return 0
          end
          redis.call('HINCRBY', KEYS[1], 'visits', 1)
          return 1
        LUA

        # Replaces the value that was read, which is empty for none: 1, otherwise 0. An empty value deletes.
        REPLACE = <<~LUA
          if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
            return 0
          end
          if ARGV[2] == '' then
            redis.call('DEL', KEYS[1])
          elseif ARGV[3] then
            redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
          else
            redis.call('SET', KEYS[1], ARGV[2])
          end
          return 1
        LUA
      end
    end
  end
end

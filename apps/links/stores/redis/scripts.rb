# frozen_string_literal: true

module Links
  module Stores
    class Redis
      # What must be one step on the server. Each script touches one key, so that it runs in a cluster too.
      module Scripts
        # Makes the link unless there is one. Returns the details of the one that is there, or nothing.
        CREATE = <<~LUA
          if redis.call('HEXISTS', KEYS[1], 'redirect') == 1 then
            return redis.call('HGET', KEYS[1], 'details')
          end
          redis.call('HSET', KEYS[1], 'redirect', ARGV[1], 'details', ARGV[2], 'visits', ARGV[3])
          return false
        LUA

        # Changes the link if it is as it was read: 1, otherwise 0.
        UPDATE = <<~LUA
          local now = redis.call('HMGET', KEYS[1], 'redirect', 'details')
          if now[1] ~= ARGV[1] or now[2] ~= ARGV[2] then
            return 0
          end
          redis.call('HSET', KEYS[1], 'redirect', ARGV[3], 'details', ARGV[4])
          return 1
        LUA

        # Deletes the link if it is as it was read: 1, otherwise 0.
        DELETE = <<~LUA
          local now = redis.call('HMGET', KEYS[1], 'redirect', 'details')
          if now[1] ~= ARGV[1] or now[2] ~= ARGV[2] then
            return 0
          end
          return redis.call('DEL', KEYS[1])
        LUA

        # Counts a visit if there are fewer than so many: 1, otherwise 0.
        TAKE_VISIT = <<~LUA
          local visits = redis.call('HGET', KEYS[1], 'visits')
          if not visits or tonumber(visits) >= tonumber(ARGV[1]) then
            return 0
          end
          redis.call('HINCRBY', KEYS[1], 'visits', 1)
          return 1
        LUA

        # Puts a value in the place of what was read before, which is empty for nothing: 1, otherwise 0. An empty value deletes.
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

# frozen_string_literal: true

module Elah
  class Redis < Clients::Redis
    # The usual commands as methods. Each is `call` with its name before the arguments, so Redis's own reference applies to it. The methods below
    # differ in arguments or results. Use {Redis#call} for other commands.
    module Commands
      # Runs the command of this name.
      #
      # @param arguments [Array<String, Symbol, Numeric, Array, Hash>] Arrays and Hashes are expanded to their contents
      # @return [String, Integer, Float, Boolean, Array, Hash, nil] as of {Redis#call}
      %i[append decr decrby del exists expire expireat expiretime getdel getset hdel hexists hget hincrby hkeys hlen hmget hset hsetnx
         hvals incr incrby incrbyfloat keys lindex llen lpop lpush lrange lrem ltrim mget mset persist pexpire ping pttl publish rename
         rpop rpush sadd scard sismember smembers srem strlen ttl type unlink zadd zcard zcount zincrby zrange zrank zrem zrevrank
         zscore].each do |name|
        define_method(name) { |*arguments| call(name, *arguments) }
      end

      # @param key [String]
      # @return [String, nil]
      def get(key) = call("GET", key)

      # @param key [String]
      # @param value [String, Symbol, Numeric]
      # @param ex [Integer, nil] seconds after which it expires
      # @param px [Integer, nil] milliseconds after which it expires
      # @param nx [Boolean] only if there is none
      # @param xx [Boolean] only if there is one
      # @param keepttl [Boolean] leave its expiry as it is
      # @param get [Boolean] whether to return the previous value
      # @return [String, nil] `"OK"`, nil when `nx` or `xx` forbade it; with `get` the previous value
      def set(key, value, ex: nil, px: nil, nx: false, xx: false, keepttl: false, get: false)
        return call("SET", key, value) unless ex || px || nx || xx || keepttl || get

        options = [*(["EX", ex] if ex), *(["PX", px] if px), *("NX" if nx), *("XX" if xx), *("KEEPTTL" if keepttl), *("GET" if get)]
        call("SET", key, value, *options)
      end

      # @param key [String]
      # @return [Hash{String=>String}] empty when there is none
      def hgetall(key) = call("HGETALL", key)

      # @param source [String] Lua
      # @param keys [Array<String>]
      # @param args [Array<String, Symbol, Numeric>]
      # @return [Object] what the script returns. {Redis#script} sends the source once
      def eval(source, keys: [], args: []) = call("EVAL", source, keys.size, *keys, *args)

      # All matching keys, read in batches. For one server only: in a cluster each node has its own keys.
      #
      # @overload scan_each(match: "*", count: 100, &block)
      #   @param match [String] a pattern as `user:*`
      #   @param count [Integer] about how many the server looks at in one step
      #   @yieldparam key [String] perhaps more than once
      #   @return [void]
      # @overload scan_each(match: "*", count: 100)
      #   @param match [String]
      #   @param count [Integer]
      #   @return [Enumerator<String>]
      def scan_each(match: "*", count: 100)
        return enum_for(:scan_each, match: match, count: count) unless block_given?

        cursor = "0"
        while true # `loop` would rescue the block's StopIteration
          cursor, keys = call("SCAN", cursor, "MATCH", match, "COUNT", count)
          keys.each { |key| yield key }
          return if cursor == "0"
        end
      end
    end
  end
end

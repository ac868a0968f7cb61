# frozen_string_literal: true

module Elah
  class Entity
    # The timer of one entity: two rows of its collection, which its calls write with their changes. One row belongs to the entity, and has the time
    # and the number of attempts that failed. The other one's key begins with the time, so that {Timers} finds the earliest ones of a shard.
    #
    # | key | value |
    # |---|---|
    # | shard (2 bytes), `k`, key of the entity | time (8), failed attempts (4) |
    # | shard (2 bytes), `t`, time (8), key of the entity | nothing |
    #
    # Times are milliseconds since 1970; all numbers are big endian.
    class Timer
      # Maximum time until a timer, in milliseconds.
      AHEAD_MS_MAX = Store::TTL_SECONDS_MAX * 1000
      # Longest pause between two attempts, in seconds. The first one is 1 s, each further one twice as long.
      PAUSE_SECONDS_MAX = 300

      class << self
        # @param shard [Integer]
        # @return [String] what the keys of a shard's rows begin with that are in the order of time
        def prefix_of(shard) = [shard, "t"].pack("na")

        # @param row_key [String] of a row in the order of time
        # @return [Array(Integer, String)] the time, and the key of the entity
        def read(row_key)
          time, key = row_key.byteslice(3..).unpack("Q>a*")
          [time, Text.of_bytes(key)]
        end

        # @param failures [Integer] failed attempts
        # @return [Integer] seconds until the next
        def pause_seconds(failures) = [2**[failures - 1, 16].min, PAUSE_SECONDS_MAX].min

        # @param time [Time, nil]
        # @param store [Elah::Store]
        # @return [Integer, nil] in milliseconds, never before the time
        # @raise [ArgumentError]
        def milliseconds(time, store)
          return if time.nil?
          raise ArgumentError, "wake_at needs a Time or nil, not #{time.inspect[0, 64]}." unless time.is_a?(Time)

          milliseconds = (time.to_r * 1000).ceil
          return milliseconds if milliseconds.between?(0, store.now_ms + AHEAD_MS_MAX)

          raise ArgumentError, "wake_at needs a time from 1970 on, and at most #{Store::TTL_SECONDS_MAX} seconds ahead, not #{time}."
        end
      end

      # @param collection [Collection]
      # @param key [String] of the entity
      # @param state [Elah::Shards::State]
      # @raise [ArgumentError] when the class of the entity has no method `woken`
      def initialize(collection, key, state)
        @timers = collection.timers or raise ArgumentError, "#{collection.entity_class} needs a method woken, which its timer calls."
        @key = key
        @shard = collection.shard_of(key)
        @state = state
        @rows = Index.open(state, collection.timers_number)
        row = @rows.get_at_once(own_key)
        @time, @failures = row&.unpack("Q>L>") # in memory from here on
      end

      # @param time [Integer, nil] in milliseconds; nil removes the timer
      # @param failures [Integer]
      def set(time, failures = 0)
        return if time == @time && failures == @failures

        @rows.delete(time_key(@time)) if @time
        @time = time
        @failures = failures
        return @rows.delete(own_key) unless time

        @rows.put(own_key, [time, failures].pack("Q>L>"))
        @rows.put(time_key(time), "")
        @timers.note(@state, time)
      end

      # Removes the timer, because it fires.
      #
      # @param time [Integer]
      # @return [Boolean] false when it was changed or has fired meanwhile
      def take(time)
        return false unless time == @time

        set(nil)
        true
      end

      # Moves the timer after an attempt that failed.
      #
      # @param time [Integer]
      # @param now [Integer] in milliseconds
      # @return [Array(Integer, Integer), nil] the number of failed attempts, and the seconds until the next; nil when it was changed meanwhile
      def postpone(time, now)
        return unless time == @time

        failures = @failures + 1
        seconds = Timer.pause_seconds(failures)
        set(now + (seconds * 1000), failures)
        [failures, seconds]
      end

      private

      def own_key = [@shard, "k", @key].pack("naa*")
      def time_key(time) = [@shard, "t", time, @key].pack("naQ>a*")
    end
  end
end

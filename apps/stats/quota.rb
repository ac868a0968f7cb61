# frozen_string_literal: true

require_relative "clock"

module Stats
  # Owns how many events each key has left in a minute, counted for all workers together. A worker knows what the others have counted a tenth
  # of a second later, so that all of them together may let that much more through.
  class Quota
    MINUTE_SECONDS = 60

    # limit, left: events · reset_seconds: until the minute is over
    State = Struct.new(:limit, :left, :reset_seconds, :is_kept) do
      # @return [Hash{String=>String}] as of the draft "RateLimit header fields for HTTP"
      def headers = { "ratelimit-limit" => limit.to_s, "ratelimit-remaining" => left.to_s, "ratelimit-reset" => reset_seconds.to_s }
    end

    # @param store [Elah::Store]
    # @param clock [#call] seconds since 1970
    def initialize(store, clock: Clock)
      @counter = store.counter("quota", durability: :memory)
      @clock = clock
      @minutes = {}
    end

    # @param key [Keys::Key] with a quota
    # @param events [Integer]
    # @return [State] is_kept says whether they may come in
    def take(key, events)
      minute, second = @clock.call.divmod(MINUTE_SECONDS)
      forget(key, minute)
      taken = @counter.increment(name(key, minute), by: events)
      State.new(key.per_minute, [key.per_minute - taken, 0].max, MINUTE_SECONDS - second, taken <= key.per_minute)
    end

    private

    # With a new minute the last but one is of no use any more.
    def forget(key, minute)
      before = @minutes[key.name]
      @minutes[key.name] = minute
      @counter.delete(name(key, before)) if before && before < minute
    end

    def name(key, minute) = "#{key.name}\0#{minute}"
  end
end

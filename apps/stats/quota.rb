# frozen_string_literal: true

require_relative "clock"

module Stats
  # The events that each key has left in a minute, counted for all workers together. A worker learns the others' counts a tenth of
  # a second later, so they may admit as many extra events.
  class Quota
    MINUTE_SECONDS = 60

    # limit, left: events · reset_seconds: time until the minute is over
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
    # @return [State] is_kept: whether the events are admitted
    def take(key, events)
      minute, second = @clock.call.divmod(MINUTE_SECONDS)
      forget(key, minute)
      name = name(key, minute)
      taken = @counter.increment(name, by: events)
      is_kept = taken <= key.per_minute
      taken = @counter.increment(name, by: -events) unless is_kept
      State.new(key.per_minute, [key.per_minute - taken, 0].max, MINUTE_SECONDS - second, is_kept)
    end

    private

    # When a minute begins, the one before the last is no longer needed.
    def forget(key, minute)
      before = @minutes[key.name]
      @minutes[key.name] = minute
      @counter.delete(name(key, before)) if before && before < minute
    end

    def name(key, minute) = "#{key.name}\0#{minute}"
  end
end

# frozen_string_literal: true

require "elah"
require_relative "clock"

module Stats
  # The counts of the live page in this process, over the last minutes: events per second, the most frequent paths, and the latency
  # of accepting. Nothing is stored.
  class LiveCounters
    # Seconds that are counted separately.
    SECONDS = 120
    # Seconds over which latencies are shown.
    LATENCY_SECONDS = 60
    # Different paths that are counted within one minute; the others are counted together.
    PATHS_MAX = 500
    # A longer path is counted with the others.
    PATH_BYTES_MAX = 200
    TOP = 10
    # The latency of one in this many single-event requests is measured.
    SAMPLE_EVERY = 16
    # Upper ends of the latency buckets, in microseconds; the last bucket has no end.
    BUCKETS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000].freeze
    OTHER = "(other)"

    # @param clock [#call] whole seconds since 1970
    def initialize(clock: Clock)
      @clock = clock
      @events = Array.new(SECONDS, 0)
      @second = 0
      @total = 0
      # By second and bucket. Everything is allocated at the start, so the process does not grow later.
      @latencies = Array.new(LATENCY_SECONDS) { Array.new(BUCKETS.size + 1, 0) }
      @paths = Elah::Sink::NameCounts.new(names_max: PATHS_MAX, name_bytes_max: PATH_BYTES_MAX, other: OTHER)
      @paths_before = {}
      @minute = 0
    end

    # @return [Elah::Sink::NameCounts] the paths of this minute's events
    attr_reader :paths

    # @return [Integer] events that this process has accepted
    attr_reader :total

    # Counts accepted events.
    #
    # @param path [String]
    # @param count [Integer]
    # @return [void]
    def count(path, count = 1)
      add_counted(count)
      @paths.add(path, count)
    end

    # Drops outdated data. A caller that adds to {#paths} itself calls this before, and {#add_counted} after.
    #
    # @return [Integer] seconds since 1970
    def expire
      now = @clock.call
      start_second(now) unless now == @second
      now
    end

    # Counts events whose paths are in {#paths} already.
    #
    # @param count [Integer]
    # @param now [Integer] the result of {#expire}
    # @return [void]
    def add_counted(count, now = expire)
      @events[now % SECONDS] += count
      @total += count
    end

    # @return [Boolean] whether to measure the next request
    def sample? = (@total % SAMPLE_EVERY).zero?

    # Records how long a request took, from its beginning until its events had the requested durability.
    #
    # @param seconds [Float]
    # @return [void]
    def record_latency(seconds)
      microseconds = seconds * 1_000_000
      @latencies[expire % LATENCY_SECONDS][BUCKETS.index { |upper| microseconds <= upper } || BUCKETS.size] += 1
    end

    # @param seconds [Integer]
    # @return [Float] events per second over this many whole seconds
    def rate(seconds = 5)
      now = expire
      (1..seconds).sum { |ago| @events[(now - ago) % SECONDS] }.fdiv(seconds)
    end

    # @return [Hash{String=>Object}] `total`, `per_second` (the last two minutes, the newest last), `rate`, `paths` (the most frequent
    #   of the last one to two minutes) and `latency_us` (requests of the last minute by the upper end of their bucket)
    def snapshot
      rate = self.rate
      seconds = (1...SECONDS).map { |ago| @events[(@second - ago) % SECONDS] }.reverse
      paths = @paths.to_h.merge(@paths_before) { |_, now, before| now + before }
      { "total" => @total, "rate" => rate.round(1), "per_second" => seconds,
        "paths" => paths.max_by(TOP) { |_, count| count }.to_h,
        "latency_us" => BUCKETS.map(&:to_s).push("more").zip(@latencies.transpose.map(&:sum)).to_h }
    end

    private

    # Clears the seconds without events, and restarts the count of paths every minute.
    def start_second(now)
      ([@second + 1, now - SECONDS + 1].max..now).each do |second|
        @events[second % SECONDS] = 0
        @latencies[second % LATENCY_SECONDS].fill(0)
      end
      @second = now
      return if now / 60 == @minute

      @paths_before = now / 60 == @minute + 1 ? @paths.to_h : {}
      @paths.clear
      @minute = now / 60
    end
  end
end

# frozen_string_literal: true

require "elah"
require_relative "clock"

module Stats
  # Owns what this process has seen in the last minutes, for whoever looks on: events per second, the paths that were named most, and how
  # long events took to be accepted. Nothing of it is stored. It is kept at the cost of two additions and one look-up for an event.
  class Pulse
    # How many seconds are kept apart.
    SECONDS = 120
    # Of how many seconds latencies are shown.
    LATENCY_SECONDS = 60
    # How many different paths are counted within one minute; the others are counted together.
    PATHS_MAX = 500
    # A longer path is counted with the others.
    PATH_BYTES_MAX = 200
    TOP = 10
    # One of so many requests with one event is timed.
    TIMED = 16
    # Upper ends of the latency buckets, in microseconds; the last bucket has no end.
    BUCKETS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000].freeze
    OTHER = "(other)"

    # @param clock [#call] whole seconds since 1970
    def initialize(clock: Clock)
      @clock = clock
      @events = Array.new(SECONDS, 0)
      @second = 0
      @total = 0
      # By second and bucket. All of it is there from the start: the process does not grow while it fills.
      @latencies = Array.new(LATENCY_SECONDS) { Array.new(BUCKETS.size + 1, 0) }
      @paths = Elah::Sink::NameCounts.new(names_max: PATHS_MAX, name_bytes_max: PATH_BYTES_MAX, other: OTHER)
      @paths_before = {}
      @minute = 0
    end

    # @return [Elah::Sink::NameCounts] the paths of this minute's events
    attr_reader :paths

    # @return [Integer] events that this process has accepted
    attr_reader :total

    # Notes events that were accepted.
    #
    # @param path [String]
    # @param count [Integer]
    # @return [void]
    def accepted(path, count = 1)
      noted(count)
      @paths.add(path, count)
    end

    # Lets go of what is too old. Who counts {#paths} by itself calls this before, and {#noted} after.
    #
    # @return [Integer] seconds since 1970
    def tick
      now = @clock.call
      turn(now) unless now == @second
      now
    end

    # Notes events whose paths are in {#paths} already.
    #
    # @param count [Integer]
    # @param now [Integer] what {#tick} gave
    # @return [void]
    def noted(count, now = tick)
      @events[now % SECONDS] += count
      @total += count
    end

    # @return [Boolean] whether the next request is one of the few that are timed
    def timed? = (@total % TIMED).zero?

    # Notes how long a request took, from its beginning to where its events were as safe as it asked for.
    #
    # @param seconds [Float]
    # @return [void]
    def took(seconds)
      microseconds = seconds * 1_000_000
      @latencies[tick % LATENCY_SECONDS][BUCKETS.index { |upper| microseconds <= upper } || BUCKETS.size] += 1
    end

    # @return [Float] events per second over the last whole seconds
    # @param seconds [Integer] how many of them
    def rate(seconds = 5)
      now = tick
      (1..seconds).sum { |ago| @events[(now - ago) % SECONDS] }.fdiv(seconds)
    end

    # @return [Hash{String=>Object}] `total`, `per_second` (the last two minutes, the newest last), `rate`, `paths` (the most named ones of
    #   the last one to two minutes) and `latency_us` (requests of the last minute by the upper end of their bucket)
    def snapshot
      rate = self.rate
      seconds = (1...SECONDS).map { |ago| @events[(@second - ago) % SECONDS] }.reverse
      paths = @paths.to_h.merge(@paths_before) { |_, now, before| now + before }
      { "total" => @total, "rate" => rate.round(1), "per_second" => seconds,
        "paths" => paths.max_by(TOP) { |_, count| count }.to_h,
        "latency_us" => BUCKETS.map(&:to_s).push("more").zip(@latencies.transpose.map(&:sum)).to_h }
    end

    private

    # Clears the seconds in which nothing was accepted, and every minute begins to count paths anew.
    def turn(now)
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

# frozen_string_literal: true

require_relative "../forecast"

module RingPools
  module Simulation
    # The simulation of one pool: the arrivals of the file against the pool code of the app, with a clock that jumps from one
    # arrival to the next.
    class Run
      BEGINNING = 1_700_000_000_000_000
      FIRST_NUMBER = 12_000_000_000

      # The time of the simulation.
      Clock = Struct.new(:now)

      # name, numbers, arrivals, overflows, hours: the results · hourly: arrivals and overflows of each hour · busiest: arrivals
      # of the busiest hour
      Outcome = Struct.new(:name, :numbers, :hold_seconds, :arrivals, :overflows, :hours, :hourly, keyword_init: true) do
        # @return [Float] share of the arrivals that overflowed
        def share = arrivals.zero? ? 0.0 : overflows / arrivals.to_f

        # Each hour's share by Erlang's B at the hour's rate, weighted by its arrivals: the forecast for a pool whose rate changes
        # slowly.
        #
        # @param count [Integer] of numbers
        # @return [Float]
        def forecast(count = numbers)
          return 0.0 if arrivals.zero?

          hourly.sum { |asked, _| asked * Forecast.overflow_share(asked / 3600.0 * hold_seconds, count) } / arrivals
        end

        # @param target [Float]
        # @return [Integer, nil] the fewest numbers whose forecast is at the target or below
        def needed(target)
          busiest = hourly.map(&:first).max.to_i
          high = Forecast.numbers_for(busiest / 3600.0 * hold_seconds, target) or return
          (0..high).bsearch { |count| forecast(count) <= target }
        end
      end

      # @param pool [Traffic::Pool]
      # @param defaults [Hash] numbers, lifetime_seconds, quarantine_seconds and policy where the file says none
      def initialize(pool, defaults)
        @pool = pool
        settings = defaults.merge(pool.settings)
        @count = settings.fetch("numbers")
        @hold = settings.fetch("lifetime_seconds")
        @quarantine = settings.fetch("quarantine_seconds")
        @policy = settings.fetch("policy")
      end

      # @return [Outcome]
      def outcome
        clock = Clock.new(BEGINNING)
        pool = Elah::LeasePool.new(Array.new(@count) { |index| FIRST_NUMBER + index }, hold: @hold, quarantine: @quarantine, policy: @policy.to_sym,
                                                                                       clock: clock)
        hourly = []
        @pool.arrivals.each do |seconds|
          hour = hourly[(seconds / 3600).to_i] ||= [0, 0]
          hour[0] += 1
          clock.now = BEGINNING + (seconds * 1e6).round
          hour[1] += 1 unless pool.lease
        end
        hourly.map! { |hour| hour || [0, 0] }
        Outcome.new(name: @pool.name, numbers: @count, hold_seconds: @hold + @quarantine, arrivals: @pool.arrivals.size, overflows: pool.overflows,
                    hours: hourly.size, hourly: hourly)
      end
    end
  end
end

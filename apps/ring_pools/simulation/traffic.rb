# frozen_string_literal: true

require "time"
require_relative "../definition"

module RingPools
  module Simulation
    # A traffic file: comma-separated lines under a header line with the columns `pool` and either
    #
    #     time            when somebody requested a number: ISO 8601, or seconds from the beginning
    #     hour, per_hour  the number of requests in that hour of the simulated time (0, 1, ...), at independent times
    #
    # and optionally numbers, lifetime_seconds, quarantine_seconds and policy, which count in the first line of a pool.
    class Traffic
      LINES_MAX = 5_000_000
      PER_HOUR_MAX = 10_000_000
      HOURS_MAX = 24 * 366

      # The file cannot be parsed; the message is a sentence with the line.
      class Broken < StandardError; end

      # One pool of the file. arrivals: seconds from the beginning, in order
      Pool = Struct.new(:name, :settings, :arrivals)

      SETTINGS = { "numbers" => 2..100_000, "lifetime_seconds" => 0.001..31_536_000.0, "quarantine_seconds" => 0.0..31_536_000.0,
                   "policy" => Definition::POLICIES }.freeze

      # @param lines [Enumerable<String>]
      # @param random [Random] for rates
      # @return [Array<Traffic::Pool>]
      # @raise [Broken]
      def self.read(lines, random) = new(random).read(lines)

      def initialize(random)
        @random = random
        @pools = {}
      end

      # @param (see .read)
      # @return (see .read)
      def read(lines)
        columns = nil
        lines.each.with_index(1) do |line, number|
          cells = line.strip.split(",").map(&:strip)
          next if cells.empty? || cells.first.start_with?("#")
          raise Broken, "The file has more than #{LINES_MAX} lines." if number > LINES_MAX

          columns ? add(columns.zip(cells).to_h, number) : columns = check(cells)
        end
        raise Broken, "The file has no header line: pool,time or pool,hour,per_hour." unless columns

        @pools.values.each { |pool| pool.arrivals.sort! }
      end

      private

      def check(columns)
        return columns if columns.include?("pool") && (columns.include?("time") || (columns & %w[hour per_hour]).size == 2)

        raise Broken, "The header line must have pool, and time or hour and per_hour; it is #{columns.join(',')}."
      end

      def add(row, number)
        name = row["pool"].to_s
        raise Broken, "Line #{number} names no pool." if name.empty?

        pool = @pools[name] ||= Pool.new(name, {}, [])
        SETTINGS.each { |column, check| pool.settings[column] ||= setting(row[column], check, column, number) unless row[column].to_s.empty? }
        row.key?("time") ? pool.arrivals << seconds(row["time"], number) : spread(pool, row, number)
      end

      def setting(text, allowed, column, number)
        value = column == "policy" ? text : Float(text, exception: false)
        raise Broken, "Line #{number}: #{column} cannot be #{text}." unless value && allowed.include?(value)

        column == "numbers" ? value.to_i : value
      end

      def seconds(text, number)
        return text.to_f if text.to_s.match?(/\A\d+(\.\d+)?\z/)

        time = Time.iso8601(text.to_s).to_f
        @first ||= time
        [time - @first, 0.0].max
      rescue ArgumentError
        raise Broken, "Line #{number}: #{text.inspect} is neither seconds nor a time such as 2030-01-31T23:59:59Z."
      end

      # A Poisson process with that rate, an hour long.
      def spread(pool, row, number)
        hour = Integer(row["hour"], exception: false)
        rate = Float(row["per_hour"], exception: false)
        unless hour&.between?(0, HOURS_MAX) && rate&.between?(0, PER_HOUR_MAX)
          raise Broken, "Line #{number}: hour must be a number from 0 to #{HOURS_MAX}, per_hour one from 0 to #{PER_HOUR_MAX}."
        end
        return if rate.zero?

        at = hour * 3600.0
        last = at + 3600
        pool.arrivals << at while (at += -Math.log(1 - @random.rand) * 3600 / rate) < last
      end
    end
  end
end

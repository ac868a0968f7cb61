# frozen_string_literal: true

module RingPools
  module Simulation
    # The printed results: a line per pool, and a plot of its hours.
    class Table
      HEAD = ["pool", "numbers", "arrivals", "busiest hour", "overflow", "forecast", "numbers for"].freeze
      BAR_WIDTH = 50

      # @param outcomes [Array<Run::Outcome>]
      # @param target [Float]
      def initialize(outcomes, target)
        @outcomes = outcomes
        @target = target
      end

      # @return [String]
      def to_s
        rows = [HEAD[0..-2] + ["#{HEAD.last} #{percent(@target)}"]] + @outcomes.map { |outcome| row(outcome) }
        widths = rows.transpose.map { |column| column.map(&:length).max }
        rows.map { |name, *cells| [name.ljust(widths[0]), *cells.zip(widths.drop(1)).map { |cell, width| cell.rjust(width) }].join("  ") }
            .join("\n")
      end

      # The hours of a pool: a bar for its arrivals, with a dark part for overflows.
      #
      # @param outcome [Run::Outcome]
      # @return [String]
      def plot(outcome)
        most = [outcome.hourly.map(&:first).max.to_i, 1].max
        lines = outcome.hourly.each_with_index.map do |(asked, overflows), hour|
          length = (asked * BAR_WIDTH / most.to_f).round
          dark = (overflows * BAR_WIDTH / most.to_f).ceil
          format("%5d  %-#{BAR_WIDTH}s  %6d  %s", hour, ("░" * [length - dark, 0].max) + ("█" * [dark, length].min), asked,
                 percent(asked.zero? ? 0.0 : overflows / asked.to_f))
        end
        ["#{outcome.name}, by hour: arrivals, and the share that overflowed", *lines].join("\n")
      end

      private

      def row(outcome)
        [outcome.name, outcome.numbers.to_s, outcome.arrivals.to_s, outcome.hourly.map(&:first).max.to_i.to_s, percent(outcome.share),
         percent(outcome.forecast), outcome.needed(@target)&.to_s || "-"]
      end

      def percent(share) = "#{format('%.2f', share * 100)} %"
    end
  end
end

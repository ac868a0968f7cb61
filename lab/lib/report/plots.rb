# frozen_string_literal: true

require_relative "bars"
require_relative "curves"

module Lab
  class Report
    # The plots of a workload, each nil where there is nothing to show.
    class Plots
      MILLISECONDS = { log: true, unit: "ms", format: ->(value) { Format.plain(value) } }.freeze
      RATE = { unit: "requests/s", format: ->(value) { Format.short(value) } }.freeze

      # @param workload [Hash] of a Summary
      # @param soaks [Array<Hash>] its long runs
      def initialize(workload, soaks)
        @workload = workload
        @rows = workload[:rows]
        @soaks = soaks
      end

      # @return [String] SVG
      def throughput = Bars.new(@workload).to_s

      # p99 at shares of what each managed.
      def latency_against_load
        series = @rows.map { |row| [row, row[:loads].map { |load| [load.dig(:rate, :median), load.dig(:p99, :median)] }] }
        plot("p99 against load", series.map { |row, points| [row, milliseconds(points.sort_by { |rate, _| rate || 0 })] },
             x: RATE.merge(title: "requests per second, as planned", log: true), y: MILLISECONDS.merge(title: "p99, ms"))
      end

      # The distribution at the rate that is the same for all; the axis is 1 ÷ (1 − quantile), so that each nine takes as much room.
      def percentiles
        series = @rows.map { |row| [row, (row[:spectrum] || []).select { |share, _| share < 1 }.map { |share, us| [1 / (1 - share), us] }] }
        nines = ->(value) { "#{Format.plain((1 - 1.0 / value) * 100)} %" }
        plot("Latency by percentile", series.map { |row, points| [row, milliseconds(points)] },
             x: { title: "percentile", log: true, unit: "", format: nines }, y: MILLISECONDS.merge(title: "ms"))
      end

      # Requests per second at each number of connections, where there is more than one.
      def connections
        return "" if @workload[:connections].size < 2

        series = @rows.map { |row| [row, row[:levels].map { |level| [level[:connections], level.dig(:rate, :median)] }] }
        plot("Requests per second against connections", series, x: CONNECTIONS, y: RATE.merge(title: "requests per second", log: true))
      end

      # Memory and p99 over the seconds of the long runs.
      def memory_over_time
        plot("Memory over time", pieces { |piece| piece[:bytes] / 1e6 }, x: SECONDS, y: MEGABYTES)
      end

      def latency_over_time
        plot("p99 over time", pieces { |piece| piece.dig(:latency_us, :p99) / 1000.0 }, x: SECONDS, y: MILLISECONDS.merge(title: "p99, ms"))
      end

      CONNECTIONS = { title: "connections", log: true, unit: "connections", format: ->(value) { Format.count(value) } }.freeze
      MEGABYTES = { title: "MB", unit: "MB", format: ->(value) { Format.plain(value) } }.freeze
      SECONDS = { title: "seconds", unit: "s", format: ->(value) { Format.plain(value) } }.freeze
      private_constant :CONNECTIONS, :MEGABYTES, :SECONDS

      private

      def pieces
        @soaks.filter_map do |soak|
          row = @rows.find { |one| one[:contender] == soak[:contender] }
          [row, soak[:pieces].map { |piece| [piece[:second], yield(piece)] }] if row
        end
      end

      def milliseconds(points) = points.map { |x, microseconds| [x, microseconds && microseconds / 1000.0] }

      def plot(label, series, x:, y:)
        lines = series.map do |row, points|
          Curves::Series.new(row[:title], Report.kind(row), points.select { |pair| pair.all? { |value| value&.positive? } })
        end
        Curves.new("#{label}, #{@workload[:name]}", lines, x: x, y: y).to_s
      end
    end
  end
end

# frozen_string_literal: true

require_relative "scale"
require_relative "svg"

module Lab
  class Report
    # Requests per second of one workload: a bar per contender to the median, a line over the range, a dot for every run.
    class Bars
      WIDTH = 820
      LEFT = 200
      RIGHT = 90
      ROW = 24
      TOP = 8

      # @param workload [Hash] of a Summary
      def initialize(workload)
        @workload = workload
        @rows = workload[:rows].select { |row| row[:rate] }
      end

      # @return [String] SVG
      def to_s
        scale = Scale.new(@rows.map { |row| row[:rate][:max] }, from: LEFT, to: WIDTH - RIGHT)
        bottom = TOP + @rows.size * ROW
        SVG.picture(WIDTH, bottom + 26, "Requests per second, #{@workload[:name]}", *axis(scale, bottom),
                    *@rows.each_with_index.map { |row, index| bar(row, scale, TOP + index * ROW) })
      end

      private

      def axis(scale, bottom)
        scale.ticks.map do |tick|
          place = scale.place(tick)
          SVG.element("line", x1: place, x2: place, y1: TOP, y2: bottom, class: "grid") +
            SVG.text(Format.count(tick), x: place, y: bottom + 16, text_anchor: "middle", class: "tick")
        end
      end

      def bar(row, scale, top)
        median, low, high = row[:rate].values_at(:median, :min, :max)
        middle = top + ROW / 2
        tip = "#{row[:title]} #{row[:version]}: #{Format.spread(row[:rate])} requests/s"
        SVG.element("g", [
          SVG.element("title", SVG.escape(tip)),
          SVG.text(row[:title], x: LEFT - 8, y: middle + 4, text_anchor: "end", class: row[:contender].start_with?("elah") ? "name ours" : "name"),
          SVG.element("rect", x: LEFT, y: top + 4, width: [scale.place(median) - LEFT, 1].max.to_f, height: ROW - 8, rx: 2, class: Report.kind(row)),
          SVG.element("line", x1: scale.place(low), x2: scale.place(high), y1: middle, y2: middle, class: "range"),
          *row[:rates].map { |rate| SVG.element("circle", cx: scale.place(rate), cy: middle, r: 2.2, class: "run") },
          SVG.text("#{Format.measured(median)}#{' *' if row[:marks].any?}", x: scale.place(high) + 8, y: middle + 4, class: "value")
        ].join)
      end
    end
  end
end

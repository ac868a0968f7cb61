# frozen_string_literal: true

require_relative "scale"
require_relative "svg"

module Lab
  class Report
    # Lines through points on two axes, each named at its end.
    class Curves
      WIDTH = 820
      HEIGHT = 400
      LEFT = 64
      RIGHT = 190
      TOP = 12
      BOTTOM = 44
      LABEL_HEIGHT = 13

      # name, kind: as the style sheet knows it · points: Array of [x, y]
      Series = Struct.new(:name, :kind, :points)

      # @param label [String] what is shown
      # @param series [Array<Series>]
      # @param x [Hash] title, log, and `format`, which writes a value
      # @param y [Hash]
      def initialize(label, series, x:, y:)
        @label = label
        @series = series.reject { |one| one.points.empty? }
        @x = x
        @y = y
      end

      # @return [String] SVG, or nothing without a series
      def to_s
        return "" if @series.empty?

        points = @series.flat_map(&:points)
        @across = Scale.new(points.map(&:first), from: LEFT, to: WIDTH - RIGHT, log: @x[:log])
        @up = Scale.new(points.map(&:last), from: HEIGHT - BOTTOM, to: TOP, log: @y[:log])
        SVG.picture(WIDTH, HEIGHT, @label, *axes, *@series.map { |one| line(one) }, *labels)
      end

      private

      def axes
        @across.ticks.map { |tick| vertical(tick) } + @up.ticks.map { |tick| horizontal(tick) } + [
          SVG.text(@x[:title], x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, text_anchor: "middle", class: "axis"),
          SVG.text(@y[:title], x: 0, y: 0, text_anchor: "middle", class: "axis", transform: "translate(13 #{(HEIGHT - BOTTOM) / 2}) rotate(-90)")
        ]
      end

      def vertical(tick)
        place = @across.place(tick)
        SVG.element("line", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM, class: "grid") +
          SVG.text(@x[:format].call(tick), x: place, y: HEIGHT - BOTTOM + 16, text_anchor: "middle", class: "tick")
      end

      def horizontal(tick)
        place = @up.place(tick)
        SVG.element("line", x1: LEFT, x2: WIDTH - RIGHT, y1: place, y2: place, class: "grid") +
          SVG.text(@y[:format].call(tick), x: LEFT - 6, y: place + 4, text_anchor: "end", class: "tick")
      end

      def line(series)
        places = series.points.map { |x, y| [@across.place(x), @up.place(y)] }
        tips = series.points.zip(places).map do |(x, y), (left, top)|
          tip = "#{series.name}: #{@x[:format].call(x)} #{@x[:unit]}, #{@y[:format].call(y)} #{@y[:unit]}"
          SVG.element("circle", SVG.element("title", SVG.escape(tip)), cx: left, cy: top, r: series.points.size > 12 ? 1.4 : 3)
        end
        path = places.map { |left, top| "#{left.round(1)},#{top.round(1)}" }.join(" ")
        SVG.element("g", SVG.element("polyline", points: path) + tips.join, class: "curve #{series.kind}")
      end

      # Names at the lines' ends, moved apart where lines end close together; a thin line leads to the end.
      def labels
        ends = @series.map { |one| [one, *one.points.last.then { |x, y| [@across.place(x), @up.place(y)] }] }.sort_by(&:last)
        heights = spread(ends.map(&:last))
        ends.zip(heights).map do |(series, left, top), height|
          SVG.element("polyline", points: "#{left.round(1)},#{top.round(1)} #{WIDTH - RIGHT + 6},#{height.round(1)}", class: "leader") +
            SVG.text(series.name, x: WIDTH - RIGHT + 10, y: height + 4, class: "label #{series.kind}")
        end
      end

      def spread(heights)
        lowest = [TOP + 4 + LABEL_HEIGHT * (heights.size - 1), HEIGHT - BOTTOM].max
        placed = heights.each_with_object([]) { |height, all| all << [height, all.last.to_f + (all.empty? ? TOP : LABEL_HEIGHT)].max }
        placed.reverse.each_with_object([]) { |height, all| all << [height, all.empty? ? lowest : all.last - LABEL_HEIGHT].min }.reverse
      end
    end
  end
end

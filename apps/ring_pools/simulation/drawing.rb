# frozen_string_literal: true

require "cgi/escape"

module RingPools
  module Simulation
    # The forecast as a drawing: for each pool the overflowing share over the number of numbers, and a dot for the simulation's
    # result.
    class Drawing
      WIDTH = 720
      HEIGHT = 400
      MARGIN = 60
      POINTS = 120
      # Smaller shares are drawn at the lower edge, because the axis is logarithmic.
      SHARE_MIN = 0.0001
      COLOURS = %w[#1b6ca8 #c0392b #1e8449 #8e44ad #b9770e #2c3e50].freeze
      MARKS = { 1.0 => "100 %", 0.1 => "10 %", 0.01 => "1 %", 0.001 => "0.1 %", SHARE_MIN => "0.01 %" }.freeze

      # @param outcomes [Array<Run::Outcome>]
      # @param target [Float]
      def initialize(outcomes, target)
        @outcomes = outcomes
        @target = target
        @most = [outcomes.map { |outcome| [outcome.numbers, outcome.needed(target).to_i].max * 1.25 }.max.to_f, 4].max
      end

      # @return [String] an SVG document
      def to_s
        <<~SVG
          <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{WIDTH} #{HEIGHT}" font-family="sans-serif" font-size="12">
          <rect width="#{WIDTH}" height="#{HEIGHT}" fill="white"/>
          <text x="#{WIDTH / 2}" y="24" text-anchor="middle" font-size="15">Share of the allocations that overflow, by the numbers of the pool</text>
          #{(marks + [target] + @outcomes.each_with_index.map { |outcome, index| pool(outcome, index) }).join("\n")}
          </svg>
        SVG
      end

      private

      def x(numbers) = (MARGIN + (numbers / @most * (WIDTH - 2 * MARGIN))).round(1)

      def y(share)
        part = Math.log10([share, SHARE_MIN].max) / Math.log10(SHARE_MIN)
        (MARGIN + (part * (HEIGHT - 2 * MARGIN))).round(1)
      end

      def marks
        shares = MARKS.map do |share, text|
          line(MARGIN, y(share), WIDTH - MARGIN, y(share), "#ddd") + %(<text x="#{MARGIN - 6}" y="#{y(share) + 4}" text-anchor="end">#{text}</text>)
        end
        numbers = (0..4).map { |quarter| (@most * quarter / 4).round }
        shares + numbers.map { |count| %(<text x="#{x(count)}" y="#{HEIGHT - MARGIN + 18}" text-anchor="middle">#{count}</text>) }
      end

      def target = line(MARGIN, y(@target), WIDTH - MARGIN, y(@target), "#888", 'stroke-dasharray="4 3"')

      def line(from_x, from_y, to_x, to_y, colour, more = "")
        %(<line x1="#{from_x}" y1="#{from_y}" x2="#{to_x}" y2="#{to_y}" stroke="#{colour}" #{more}/>)
      end

      def pool(outcome, index)
        colour = COLOURS[index % COLOURS.size]
        points = (0..POINTS).map { |step| (@most * step / POINTS).round }.uniq.map { |count| "#{x(count)},#{y(outcome.forecast(count))}" }
        %(<polyline points="#{points.join(' ')}" fill="none" stroke="#{colour}" stroke-width="2"/>\n) +
          %(<circle cx="#{x(outcome.numbers)}" cy="#{y(outcome.share)}" r="5" fill="#{colour}"/>\n) +
          %(<text x="#{WIDTH - MARGIN + 4}" y="#{MARGIN + (index * 16)}" fill="#{colour}" text-anchor="end">#{CGI.escapeHTML(outcome.name)}</text>)
      end
    end
  end
end

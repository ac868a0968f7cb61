# frozen_string_literal: true

module Bench
  # Numbers as the tables show them: measured ones with as many digits as repeat from run to run, counted ones whole.
  module Figures
    # The medians of two records of one commit differ in their third digit, often in their second.
    DIGITS = 2
    # Memory repeats to about one percent.
    MEMORY_DIGITS = 3

    module_function

    # @param number [Numeric] measured
    # @param digits [Integer] significant ones
    # @return [String] rounded, with commas
    def rounded(number, digits = DIGITS)
      return "0" if number.zero?

      places = digits - 1 - Math.log10(number.abs).floor
      value = number.round(places)
      # 9.96 becomes 10.0, which has a digit too many.
      places = digits - 1 - Math.log10(value.abs).floor
      places.positive? ? format("%.#{places}f", value) : whole(value)
    end

    # @param number [Numeric] counted
    # @return [String] with commas
    def whole(number) = number.round.to_s.gsub(/(?<=\d)(?=(\d{3})+$)/, ",")

    # @param spread [Hash{Symbol=>Numeric}] median, min and max
    # @return [String] the median with its range, as in "0.83 (0.81–0.86)"
    def spread(spread) = "#{rounded(spread[:median])} (#{rounded(spread[:min])}–#{rounded(spread[:max])})"

    # @param bytes [Numeric]
    # @return [String]
    def megabytes(bytes) = "#{rounded(bytes / 1e6, MEMORY_DIGITS)} MB"

    # @param text [String] a sentence with measured numbers that have decimals
    # @return [String] the same with those rounded
    def rounded_text(text) = text.gsub(/\d+\.\d+/) { |number| rounded(number.to_f) }
  end
end

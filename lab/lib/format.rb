# frozen_string_literal: true

require_relative "../../bench/lib/figures"

module Lab
  # Figures as people read them. What was not measured is a dash.
  module Format
    NONE = "–"

    module_function

    # @param number [Numeric, nil]
    # @return [String] whole, with commas
    def count(number) = number ? Bench::Figures.whole(number) : NONE

    # @return [String] as many digits as repeat from run to run
    def measured(number) = number ? Bench::Figures.rounded(number) : NONE

    # @return [String] as short as it can be, for an axis
    def plain(number)
      return count(number) if number >= 1000

      format("%.4g", number)
    end

    # @return [String] with k and M, for an axis
    def short(number)
      return "#{plain(number / 1e6)}M" if number >= 1e6

      number >= 1000 ? "#{plain(number / 1e3)}k" : plain(number)
    end

    # @param spread [Hash, nil] median, min, max
    def spread(spread) = spread ? Bench::Figures.spread(spread) : NONE

    def milliseconds(microseconds) = microseconds ? measured(microseconds / 1000.0) : NONE
    def megabytes(bytes) = bytes ? Bench::Figures.rounded(bytes / 1e6, Bench::Figures::MEMORY_DIGITS) : NONE

    # @param errors [Hash{Symbol=>Integer}]
    def errors(errors) = errors.map { |kind, count| "#{count(count)} #{kind}" }.join(", ")

    # @param row [Hash] of a Summary
    # @return [String] failure, errors and marks in short
    def remarks(row)
      words = []
      words << "failed: #{row[:failure][:step]}" if row[:failure]
      words << "errors: #{errors(row[:errors])}" if row[:errors]&.any?
      words << "*" if row[:marks]&.any?
      words.join("; ")
    end
  end
end

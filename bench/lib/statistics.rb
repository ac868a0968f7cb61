# frozen_string_literal: true

module Bench
  # Medians and ranges of a few runs.
  module Statistics
    module_function

    # @return [Float]
    def median(values)
      sorted = values.sort
      middle = sorted.size / 2
      sorted.size.odd? ? sorted[middle].to_f : (sorted[middle - 1] + sorted[middle]) / 2.0
    end

    # @return [Hash{Symbol=>Float}] median, min and max
    def spread(values)
      { median: median(values), min: values.min.to_f, max: values.max.to_f }
    end
  end
end

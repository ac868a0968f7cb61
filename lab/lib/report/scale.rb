# frozen_string_literal: true

module Lab
  class Report
    # Maps values to places on an axis, and names round values for it.
    class Scale
      TICKS_MAX = 6

      # @param values [Array<Numeric>] that must find a place
      # @param from [Numeric] where the axis begins on the picture
      # @param to [Numeric] and where it ends
      # @param log [Boolean] whether equal factors take equal room; zeros then stand at its beginning
      def initialize(values, from:, to:, log: false)
        @log = log
        @from = from
        @to = to
        @low, @high = log ? decades(values.select(&:positive?)) : [0.0, nice_ceiling([*values, 0].max.to_f)]
      end

      # @return [Float]
      def place(value)
        share = @log ? Math.log10([value, @low].max / @low) / Math.log10(@high / @low) : (value - @low) / (@high - @low)
        @from + share.clamp(0.0, 1.0) * (@to - @from)
      end

      # @return [Array<Float>] round values
      def ticks
        return (0..Math.log10(@high / @low).round).map { |power| @low * 10**power } if @log

        step = nice_step(@high / TICKS_MAX)
        (0..(@high / step + 1e-9).floor).map { |index| index * step }
      end

      private

      def decades(values)
        low, high = values.minmax
        return [1.0, 10.0] unless low

        low = 10.0**Math.log10(low).floor
        [low, [10.0**Math.log10(high).ceil, low * 10].max]
      end

      def nice_step(least) = [1, 2, 5, 10].map { |digit| digit * 10.0**Math.log10(least).floor }.find { |step| step >= least * 0.999 }

      def nice_ceiling(value)
        return 1.0 unless value.positive?

        step = nice_step(value / TICKS_MAX)
        (value / step).ceil * step
      end
    end
  end
end

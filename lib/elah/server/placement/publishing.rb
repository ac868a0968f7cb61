# frozen_string_literal: true

module Elah
  module Placement
    # The numbers of an app in the row of its process. Mixed into placements that have `@scoreboard`, which may be nil, and `@row`.
    module Publishing
      NAME = /\A[a-zA-Z0-9_]{1,23}\z/
      VALUES = (0..(2**64) - 1).freeze
      private_constant :NAME, :VALUES

      # Shows a number of this worker in `elah status` and the metrics. A process that serves nothing, such as a script, shows it nowhere.
      #
      # @param name [String, Symbol] up to 23 letters, digits and underscores
      # @param value [Integer] 0 or more
      # @return [void]
      # @raise [ArgumentError] for another name or value, or when 32 others are shown already
      def publish(name, value)
        refuse(name, "a name has 1 to 23 letters, digits and underscores") unless NAME.match?(name.to_s)
        refuse(name, "a value is an Integer of 64 bits, 0 or more, not #{value.inspect}") unless value.is_a?(Integer) && VALUES.cover?(value)
        return if @scoreboard.nil? || @scoreboard.publish(@row, name.to_s, value)

        refuse(name, "a worker publishes at most 32 numbers")
      end

      private

      def refuse(name, reason) = raise(ArgumentError, "#{name.inspect} cannot be published: #{reason}.")
    end
  end
end

# frozen_string_literal: true

module Elah
  class Sink
    # Counts of names, kept natively (ext/elah/src/sink/name_counts.rs) while events are accepted without Ruby objects.
    NameCounts = SinkNameCounts
    class NameCounts
      # @param names_max [Integer] number of different names with a count each; all others share one
      # @param name_bytes_max [Integer] longer names count as others
      # @param other [String] the name under which others are counted
      # @return [NameCounts]
      def self.new(names_max: 500, name_bytes_max: 200, other: "(other)") = open(names_max, name_bytes_max, other)

      # @!method add(name, count)
      #   @param name [String]
      #   @param count [Integer]

      # @!method to_h
      #   @return [Hash{String=>Integer}]

      # @!method clear
      #   Resets all counts.
    end
  end
end

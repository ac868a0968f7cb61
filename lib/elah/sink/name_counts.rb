# frozen_string_literal: true

module Elah
  class Sink
    # How often each name came, counted natively (ext/elah/src/name_counts.rs) by whoever accepts events without Ruby objects.
    NameCounts = SinkNameCounts
    class NameCounts
      # @param names_max [Integer] how many different names are counted apart; the others are counted together
      # @param name_bytes_max [Integer] a longer one is counted with the others
      # @param other [String] the name of the others
      # @return [NameCounts]
      def self.new(names_max: 500, name_bytes_max: 200, other: "(other)") = open(names_max, name_bytes_max, other)

      # @!method add(name, count)
      #   @param name [String]
      #   @param count [Integer]

      # @!method to_h
      #   @return [Hash{String=>Integer}]

      # @!method clear
      #   Forgets all.
    end
  end
end

# frozen_string_literal: true

module Elah
  class RankedSet
    # Checks of keyword arguments, and conversion of an order to numbers for the native half.
    # @api private
    module Arguments
      # Styles of ranks.
      STYLES = %i[ordinal dense competition modified fractional].freeze
      DIRECTIONS = { desc: true, asc: false }.freeze
      TIES = { earliest: false, member: true }.freeze
      # Bytes of a store's key that are left for the prefix.
      PREFIX_BYTES_MAX = 222

      module_function

      def style(name) = STYLES.include?(name) || refuse("style", name, STYLES)

      # @return [Array] `[[is_descending, decimals], ...]` and whether names decide ties
      def order(directions, decimals, ties)
        directions = Array(directions)
        decimals = Array.new(directions.size, decimals) unless decimals.is_a?(Array)
        if decimals.size != directions.size
          raise InvalidOrder, "decimals: has #{decimals.size} components, order: has #{directions.size}."
        end

        require "bigdecimal" if decimals.any? { |digits| digits != 0 }
        [directions.zip(decimals).map { |direction, digits| [descending(direction), digits(digits)] },
         TIES.fetch(ties) { refuse("ties", ties, TIES.keys) }]
      end

      def prefix(prefix)
        return prefix if prefix.bytesize <= PREFIX_BYTES_MAX

        raise InvalidPrefix, "A prefix of #{prefix.bytesize} bytes is too long; it may have up to #{PREFIX_BYTES_MAX}."
      end

      # @param ranks [Range<Integer>] from 1; may be open at either end
      # @param size [Integer] of the set
      # @return [Array(Integer, Integer)] the first place, counted from 0, and how many
      def places(ranks, size)
        unless [ranks.begin, ranks.end].compact.all?(Integer)
          raise ArgumentError, "ranks: must be a Range of Integers, not #{ranks.inspect}"
        end

        first = (ranks.begin || 1).clamp(1, size + 1)
        last = ranks.end || size
        last -= 1 if ranks.end && ranks.exclude_end?
        [first - 1, [[last, size].min - first + 1, 0].max]
      end

      # @param limit [Integer]
      # @param name [String] of the argument
      # @param bounds [Hash{Symbol=>Integer}] `least` and `most`, unless they are 0 and the largest number
      # @return [Integer] the same
      # @raise [ArgumentError]
      def limit(limit, name = "limit", **bounds) = Store.limit(limit, name: name, **bounds)

      def descending(direction)
        DIRECTIONS.fetch(direction) { raise InvalidOrder, "A direction is :desc or :asc, not #{direction.inspect}." }
      end

      def digits(digits)
        return digits if digits.is_a?(Integer) && digits.between?(0, 18)

        raise InvalidOrder, "The decimals of a component must be an Integer from 0 to 18, not #{digits.inspect}."
      end

      def refuse(name, value, known)
        raise ArgumentError, "#{name}: must be one of #{known.map(&:inspect).join(', ')}, not #{value.inspect}"
      end
    end
  end
end

# frozen_string_literal: true

require "bigdecimal"
require_relative "../../errors"

module Leaderboards
  module Stores
    class Redis
      # The encoding of one board's scores in Redis. A position in the order is sort key, sequence and member.
      class Order
        SEQUENCE_BYTES = 8
        MEMBER_BYTES_MAX = 255
        SIGN = 2**63
        LAST = (2**64) - 1
        DESCENDING = "d".ord

        # A member's standing with its metadata: JSON or nil.
        class Row < Elah::RankedSet::Row
          # @return [String, nil]
          attr_reader :metadata

          def initialize(member, rank, score, metadata)
            super(member, rank, score)
            @metadata = metadata
          end
        end

        # @return [String] the components' directions, a letter each
        attr_reader :directions
        # @return [Symbol] :earliest or :member
        attr_reader :ties
        # @return [Integer] bytes of a sort key
        attr_reader :width
        # @return [Integer] bytes before a member's name
        attr_reader :head

        # @param definition [Definition]
        def initialize(definition)
          @directions = definition.order.map { |direction| direction == :desc ? "d" : "a" }.join.freeze
          @ties = definition.ties
          @width = 8 * definition.order.size
          @head = @width + (@ties == :earliest ? SEQUENCE_BYTES : 0)
          @is_integer = definition.decimals == [0]
          @units = definition.decimals.map { |digits| 10**digits }
          @exponents = definition.decimals.map { |digits| BigDecimal("1e-#{digits}") unless digits.zero? }
          # Empty sets that only parse scores of one component, of two, and so on.
          @readers = (1..definition.order.size).map do |count|
            Elah::RankedSet.new(order: definition.order.first(count), decimals: definition.decimals.first(count))
          end
        end

        # @param score [Object] as a client sends it
        # @return [String] bytes that sort as scores rank
        # @raise [InvalidScore]
        def sort_key(score) = write(score, @readers.last)

        # @param score [Object]
        # @return [String] what the sort keys of all scores begin with that have these components, the first ones
        # @raise [InvalidScore]
        def prefix(score) = write(score, @readers[(score.is_a?(Array) ? score.size : 1) - 1] || @readers.last)

        # @param sort_key [String] or a place
        # @return [Integer, BigDecimal, Array]
        def score(sort_key)
          return number(sort_key.unpack1("Q>"), 0) if @is_integer

          parts = sort_key.unpack("Q>#{@units.size}").each_with_index.map { |word, index| decimal(number(word, index), index) }
          parts.size == 1 ? parts.first : parts
        end

        # @param place [String]
        # @param rank [Integer, String] a text where it may be a half
        # @param metadata [String, nil] JSON
        # @return [Row]
        def row(place, rank, metadata)
          member = place.byteslice(@head..).force_encoding(Encoding::UTF_8)
          Row.new(member, rank(rank), score(place), metadata&.force_encoding(Encoding::UTF_8))
        end

        # @param rank [Integer, String, nil]
        # @return [Integer, Float, nil]
        def rank(rank) = rank.is_a?(String) ? rank.to_f : rank

        # @param place [String]
        # @return [String] in letters that need no escape
        def cursor(place) = [place].pack("m0").tr("+/", "-_").delete("=")

        # @param cursor [String]
        # @return [String] a place
        # @raise [InvalidCursor]
        def place_in(cursor)
          place = cursor.tr("-_", "+/").unpack1("m")
          return place if cursor(place) == cursor && place.bytesize.between?(@head + 1, @head + MEMBER_BYTES_MAX)

          raise InvalidCursor, "Invalid cursor for this leaderboard."
        end

        # @param scores [Range] of numbers, or of Arrays that may leave out components at the end
        # @return [Array(String, String)] before and behind the places of members with such scores; empty where it is open
        # @raise [InvalidScore]
        def points(scores)
          from, to = [scores.begin, scores.end].map { |score| score && prefix(score) }
          if @directions.start_with?("d")
            [to ? (scores.exclude_end? ? behind(to) : to) : "", from ? behind(from) : ""]
          else
            [from || "", to ? (scores.exclude_end? ? to : behind(to)) : ""]
          end
        end

        # @param sort_key [String]
        # @return [Integer] the first component as a whole multiple of its last digit
        def first_number(sort_key) = number(sort_key.unpack1("Q>"), 0)

        # @param number [Integer] a whole multiple of the first component's last digit
        # @return [Integer, BigDecimal]
        def first_component(number) = decimal(number, 0)

        private

        # The parsing of a ranked set.
        def write(score, reader)
          parts = Array(reader.decide("", score, operator: :set).score)
          parts.each_with_index.map { |part, index| word((part * @units[index]).to_i, index) }.pack("Q>*")
        rescue Elah::RankedSet::InvalidScore, TypeError => e
          raise InvalidScore, e.message
        end

        def descending?(index) = @directions.getbyte(index) == DESCENDING

        def word(number, index) = descending?(index) ? LAST - (number + SIGN) : number + SIGN

        def number(word, index) = (descending?(index) ? LAST - word : word) - SIGN

        def decimal(number, index) = @exponents[index] ? number * @exponents[index] : number

        # The first bytes after all positions that begin with these.
        def behind(key)
          bytes = key.bytes
          bytes.pop while bytes.last == 255
          return "\xFF".b * (@width + 1) if bytes.empty?

          bytes[-1] += 1
          bytes.pack("C*")
        end
      end
    end
  end
end

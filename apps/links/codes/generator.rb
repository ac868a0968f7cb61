# frozen_string_literal: true

require_relative "alphabet"
require_relative "custom"

module Links
  module Codes
    # The new codes of one worker. Numbers are reserved in blocks, so that a new link costs no separate write for its code. The
    # rest of a block is never used after the worker ends.
    class Generator
      BLOCK = 1000

      # @param store [#secret, #reserve_numbers]
      def initialize(store)
        @store = store
        @ranges = []
      end

      # @return [String] a code that no generator of this store returns twice; a client may have chosen it
      def next
        code = alphabet.code(next_number)
        code = alphabet.code(next_number) while Custom.reserved?(code)
        code
      end

      private

      def alphabet = @alphabet ||= Alphabet.new(@store.secret)

      # The fiber may be suspended during the reservation, and others then reserve too: all their blocks are used.
      def next_number
        while true
          first = @ranges.first
          @ranges << reserved_range and next unless first

          number, last = first
          number == last ? @ranges.shift : first[0] = number + 1
          return number
        end
      end

      def reserved_range
        last = @store.reserve_numbers(BLOCK) - 1
        [last - BLOCK + 1, last]
      end
    end
  end
end

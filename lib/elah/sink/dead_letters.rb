# frozen_string_literal: true

module Elah
  class Sink
    # What {Sink} does with the events that its destination does not take.
    module DeadLetters
      PAGE_LETTERS = 500
      private_constant :PAGE_LETTERS

      # @param after [String, nil] the id of the last letter of the page before
      # @param limit [Integer]
      # @return [Array<DeadLetter>] in the order in which the events were made
      def dead_letters(after: nil, limit: 100) = ledger.dead_letters(after: after && Id.raw(after), limit: limit)

      # Puts dead letters into the journal again, with the ids that they had.
      #
      # @param ids [Array<String>, nil] nil is all that there are now
      # @return [Integer] how many
      # @raise [Full] when the journal has no room for more
      # @raise [Elah::Error] while somebody else replays or salvages this sink
      def replay(ids = nil)
        alone do
          each_page(ids) do |letters|
            last = letters.map { |letter| append(letter) }.last
            journal.wait_synced(last)
          end
        end
      end

      # Forgets dead letters for good; they do not count as accepted any more.
      #
      # @param ids [Array<String>, nil] nil is all that there are now
      # @return [Integer] how many
      def discard(ids = nil) = each_page(ids)

      private

      def append(letter)
        journal.append_record(letter.json?, letter.bytes, letter.stream, letter.raw_id, letter.accepted_ms)
      end

      # Forgets the letters page by page, each page after the block.
      def each_page(ids)
        pages = ids ? [ids.map { |id| Id.raw(id) }.uniq.filter_map { |id| ledger.dead_letter(id) }].reject(&:empty?) : all_pages
        pages.sum do |letters|
          yield letters if block_given?
          ledger.withdraw(letters)
          letters.size
        end
      end

      def all_pages
        pages = []
        while (page = ledger.dead_letters(after: pages.last&.last&.raw_id, limit: PAGE_LETTERS)).any?
          pages << page
        end
        pages
      end
    end
  end
end

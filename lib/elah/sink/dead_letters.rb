# frozen_string_literal: true

module Elah
  class Sink
    # The dead letters of a {Sink}: lists, replays and discards them.
    module DeadLetters
      PAGE_LETTERS = 500
      private_constant :PAGE_LETTERS

      # @param after [String, nil] the ID of the last letter of the previous page
      # @param limit [Integer]
      # @return [Array<DeadLetter>] in the order in which the events were created
      def dead_letters(after: nil, limit: 100) = ledger.dead_letters(after: after && Id.raw(after), limit: limit)

      # Puts dead letters into the journal again, with the same IDs. Waits while another fiber or process replays or salvages this sink.
      #
      # @param ids [Array<String>, nil] nil means all current letters
      # @return [Integer] how many
      # @raise [Full] when the journal has no room for more
      def replay(ids = nil)
        alone { pages(ids).sum { |letters| put_back(letters) } }
      end

      # Deletes dead letters; they no longer count as accepted.
      #
      # @param ids [Array<String>, nil] nil means all current letters
      # @return [Integer] how many
      def discard(ids = nil)
        pages(ids).sum do |letters|
          ledger.withdraw(letters)
          letters.size
        end
      end

      private

      # Letters that are in the journal again are withdrawn, even if there is no room for the next one.
      def put_back(letters)
        last = nil
        returned = []
        letters.each do |letter|
          last = append(letter)
          returned << letter
        end
        letters.size
      ensure
        journal.wait_synced(last) if last
        ledger.withdraw(returned)
      end

      def append(letter)
        journal.append_record(letter.json?, letter.bytes, letter.stream, letter.raw_id, letter.accepted_ms)
      end

      # @return [Array<Array<DeadLetter>>] the letters, as many at once as a transaction of the ledger can withdraw
      def pages(ids)
        return ids.map { |id| Id.raw(id) }.uniq.filter_map { |id| ledger.dead_letter(id) }.each_slice(PAGE_LETTERS).to_a if ids

        pages = []
        while (page = ledger.dead_letters(after: pages.last&.last&.raw_id, limit: PAGE_LETTERS)).any?
          pages << page
        end
        pages
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  class Sink
    # The dead letters of a {Sink}: lists, reports, replays and discards them.
    module DeadLetters
      # As many as are in memory at once, and as a transaction of the ledger withdraws.
      PAGE_LETTERS = 100
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

      # @api private
      # @param letters [Array<DeadLetter>] letters of a batch to log, and to report to callers that wait for these events
      # @param batch [Array] the journal, and where the batch begins and ends
      def parked(letters, *batch)
        @notices.parked(letters)
        @awaited.reject(letters, *batch)
        pass_on(letters) if @destination.respond_to?(:parked)
      end

      private

      # The batch is settled, whatever the destination does now.
      def pass_on(letters)
        @destination.parked(letters)
      rescue StandardError => e
        raise if e.is_a?(Cancelled)

        Log.current.exception(e, "The destination of the sink #{@name} failed with its dead letters")
        ErrorReports.report(e, sink: @name)
      end

      # Letters that are in the journal again are withdrawn, even if there is no room for the next one.
      def put_back(letters)
        last = nil
        returned = []
        journal = self.journal
        letters.each do |letter|
          last = journal.append_record(letter.json?, letter.bytes, letter.stream, letter.raw_id, letter.accepted_ms)
          returned << letter
        end
        letters.size
      ensure
        journal.wait_synced(last) if last
        ledger.withdraw(returned)
      end

      # @return [Enumerator<Array<DeadLetter>>] pages of the letters, each read when it is needed
      def pages(ids)
        return ids.map { |id| Id.raw(id) }.uniq.lazy.filter_map { |id| ledger.dead_letter(id) }.each_slice(PAGE_LETTERS) if ids

        to = ledger.last_dead_id # a replayed event may be parked again meanwhile
        Enumerator.new do |pages|
          after = nil
          while to && (page = ledger.dead_letters(after: after, limit: PAGE_LETTERS).select { |letter| letter.raw_id <= to }).any?
            pages << page
            after = page.last.raw_id
          end
        end
      end
    end
  end
end

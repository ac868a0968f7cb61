# frozen_string_literal: true

module Elah
  class Sink
    # Brings the events of one journal to the destination, batch after batch, and settles each in the ledger.
    class Delivery
      # What may end while the ledger cannot be written to: the batch is delivered, and only noting that is tried again.
      LEDGER_ERRORS = [Store::Full, Store::Busy, Store::Conflict, Store::Failed].freeze
      # What ends a delivery: a journal that is damaged has to be opened anew.
      ENDINGS = [Closed, Cancelled, Damaged].freeze
      private_constant :LEDGER_ERRORS, :ENDINGS

      # @param journal [Journal]
      # @param name [String] of the journal
      # @param ledger [Ledger]
      # @param attempts [Attempts]
      # @param health [Health]
      # @param bounds [Bounds]
      # @param pause [#call] waits so many seconds
      # @param share [Share]
      # @param parked [#call] is told the dead letters of a batch
      def initialize(journal, name, ledger:, attempts:, health:, bounds:, pause:, share:, parked:)
        @journal = journal
        @name = name
        @ledger = ledger
        @attempts = attempts
        @health = health
        @bounds = bounds
        @pause = pause
        @share = share
        @parked = parked
        @uncounted = []
        @counted = 0
      end

      # Runs until the journal is closed. While the ledger or the journal fails, nothing leaves the journal.
      #
      # @raise [Damaged] when a file of the journal is not as it was written
      def run
        position = @journal.released
        loop do
          following = until_possible { take_turn(position) }
          wait_after(position) if following == position
          position = following
        end
      rescue Closed
        nil
      end

      # Runs until everything in the journal is delivered.
      #
      # @raise [StandardError] when the ledger or the journal fails
      def run_to_the_end
        position = @journal.released
        while (following = take_turn(position)) != position
          position = following
        end
      rescue Closed
        nil
      end

      private

      def until_possible
        yield
      rescue *ENDINGS
        raise
      rescue StandardError => e
        @health.stuck(e)
        @pause.call(@bounds.retry_max_seconds)
        retry
      end

      # A batch that fails for an unknown reason is delivered event by event, to find the one that it fails for.
      #
      # @return [Integer] the place after the batch; `position` when there is nothing
      def take_turn(position)
        @share.take_turn(Elah.current_loop.current_task) { deliver_after(position, @bounds.batch_events_max) }
      rescue *ENDINGS
        raise
      rescue StandardError => e
        Log.current.exception(e, "A batch of #{@name} failed; its events are delivered one by one") unless @health.stuck?
        deliver_alone(position)
      end

      # An event that cannot be processed becomes a dead letter, so that the ones after it go on.
      def deliver_alone(position)
        deliver_after(position, 1)
      rescue *ENDINGS
        raise
      rescue StandardError => e
        following, rows = read_after(position, 1)
        events = rows.map { |row| Event.new(*row) }
        finish(position, following, events, events.map { |event| [event, Text.of_exception(e)] })
      end

      def deliver_after(position, events_max)
        following, rows = read_after(position, events_max)
        return position if rows.empty?

        events = rows.map { |row| Event.new(*row) }
        finish(position, following, events, @attempts.deliver(events))
      end

      # @param refused [Array<Array(Event, String)>] the events that become dead letters, each with the reason
      def finish(position, following, events, refused)
        dead = refused.map { |event, reason| DeadLetter.of(event, reason, @journal.now_ms) }
        wait_for_room(dead.size)
        settle(position, following, events, dead)
        @health.settled
        @parked.call(dead)
        @journal.release(following)
        following
      end

      def read_after(position, events_max)
        @journal.read(position, events_max, @bounds.batch_bytes_max)
      rescue Unreadable => e
        @health.failed(e)
        @pause.call(@bounds.retry_seconds)
        retry
      end

      def wait_after(position)
        @journal.wait_appended(position)
        @pause.call(@bounds.linger_seconds) if @bounds.linger_seconds.positive?
      end

      # Dead letters are bounded too: with no room for more, events stay in the journal.
      def wait_for_room(letters)
        while letters.positive? && @ledger.dead_count + letters > @bounds.dead_max && @ledger.dead_count.positive?
          @health.failed(Full.new("There are #{@ledger.dead_count} dead letters already; replay or discard some."))
          @pause.call(@bounds.retry_max_seconds)
        end
      end

      def settle(position, following, events, dead)
        ids = dead.map(&:raw_id)
        delivered = ids.empty? ? events : events.reject { |event| ids.include?(event.raw_id) }
        count_accepted
        until_stored do
          @ledger.settle(@name, position, [following, @counted], accepted: @uncounted, delivered: delivered, dead: dead)
        end
        @uncounted = []
        until_stored { @ledger.sum_up_before(events.last.accepted_ms / 60_000 - @bounds.minutes_max) }
      end

      def until_stored
        yield
      rescue *LEDGER_ERRORS => e
        @health.failed(e)
        @pause.call(@bounds.retry_max_seconds)
        retry
      end

      def count_accepted
        @counted, tally = @journal.take_tally
        @uncounted.concat(tally)
      end
    end
  end
end

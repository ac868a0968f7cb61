# frozen_string_literal: true

module Elah
  class Sink
    # Delivery of one journal: sends its events to the destination in batches, and settles each batch in the ledger.
    class Delivery
      # Errors that may end while the ledger cannot be written: the batch is delivered, and only the settling is retried.
      LEDGER_ERRORS = [Store::Full, Store::Busy, Store::Conflict, Store::Failed].freeze
      # Errors that end a delivery instead of failing one batch.
      ENDING = [Closed, Damaged, Cancelled].freeze
      private_constant :LEDGER_ERRORS, :ENDING

      # @param journal [Journal]
      # @param name [String] of the journal
      # @param ledger [Ledger]
      # @param attempts [Attempts]
      # @param health [Health]
      # @param bounds [Bounds]
      # @param pause [#call] waits for the given number of seconds
      # @param share [CpuBudget]
      # @param parked [#call] receives the dead letters of a batch, the journal, and where the batch begins and ends
      def initialize(journal, name, ledger:, attempts:, health:, bounds:, pause:, share:, parked:)
        @journal = journal
        @name = name
        @ledger = ledger
        @attempts = attempts
        @health = health
        @bounds = bounds
        @pause = pause
        @budget = share
        @parked = parked
        @uncounted = []
        @counted = 0
      end

      # Runs until the journal is closed. While the ledger or the journal fails, nothing leaves the journal.
      #
      # @raise [Damaged] when the journal must be opened again
      def run
        position = @journal.released
        loop do
          following = until_possible { deliver_in_budget(position) }
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
        while (following = deliver_in_budget(position)) != position
          position = following
        end
      rescue Closed
        nil
      end

      private

      def until_possible
        yield
      rescue *ENDING
        raise
      rescue StandardError => e
        @health.stuck(e)
        @pause.call(@bounds.retry_max_seconds)
        retry
      end

      # A batch that fails for an unknown reason is delivered event by event, to find the one that causes it.
      #
      # @return [Integer] the position after the batch; `position` when there is nothing to deliver
      def deliver_in_budget(position)
        @budget.run(Elah.current_loop.current_task) { deliver_after(position, @bounds.batch_events_max) }
      rescue *ENDING
        raise
      rescue StandardError => e
        told(e) unless @health.stuck?
        deliver_alone(position)
      end

      def told(error)
        Log.current.exception(error, "A batch of #{@name} failed; its events are delivered one by one")
        ErrorReports.report(error, sink: @name)
      end

      # An event that cannot be processed becomes a dead letter, so that later events are delivered.
      def deliver_alone(position)
        deliver_after(position, 1)
      rescue *ENDING
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
        @parked.call(dead, @journal, position, following) if dead.any?
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

      # Dead letters are limited too: if there is no room for more, this event and all after it stay in the journal.
      def wait_for_room(letters)
        while letters.positive? && @ledger.dead_count + letters > @bounds.dead_max && @ledger.dead_count.positive?
          @health.stuck(Full.new("The sink has #{@ledger.dead_count} of at most #{@bounds.dead_max} dead letters (sink_dead_max), and no room " \
                                 "for #{letters} more. Until you replay or discard some, it delivers nothing."))
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
        until_stored { @ledger.aggregate_before(events.last.accepted_ms / 60_000 - @bounds.minutes_max) }
      end

      def until_stored
        yield
      rescue *LEDGER_ERRORS => e
        @health.stuck(e)
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

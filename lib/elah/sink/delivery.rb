# frozen_string_literal: true

module Elah
  class Sink
    # Delivery of one journal: sends its events to the destination in batches, and settles each batch in the ledger.
    class Delivery
      # Errors that may end while the ledger cannot be written: the batch is delivered, and only the settling is retried.
      LEDGER_ERRORS = [Store::Full, Store::Busy, Store::Conflict, Store::Failed, Store::CannotOpen].freeze
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
        loop { wait_for_more unless until_possible { deliver_in_budget } }
      rescue Closed
        nil
      end

      # Runs until everything in the journal is delivered.
      #
      # @raise [StandardError] when the ledger or the journal fails
      def run_to_the_end
        nil while deliver_in_budget
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
      # @return [Boolean] whether there was something to deliver
      def deliver_in_budget
        @budget.run(Elah.current_loop.current_task) { deliver(@bounds.batch_events_max) }
      rescue *ENDING
        raise
      rescue StandardError => e
        told(e) unless @health.stuck?
        deliver_alone
      end

      def told(error)
        Log.current.exception(error, "A batch of #{@name} failed; its events are delivered one by one")
        ErrorReports.report(error, sink: @name)
      end

      # An event that cannot be processed becomes a dead letter, so that later events are delivered. One that cannot be read stays.
      def deliver_alone
        batch = read(1)
        deliver_batch(*batch)
      rescue *ENDING
        raise
      rescue StandardError => e
        raise unless batch

        finish(*batch, batch.last.to_h { |event| [event, Text.of_exception(e)] })
        true
      end

      def deliver(events_max) = deliver_batch(*read(events_max))

      def deliver_batch(position, following, events)
        finish(position, following, events, @attempts.deliver(events).to_h) if events.any?
        events.any?
      end

      # @return [Array] where the batch begins and ends, and its events
      def read(events_max)
        position = @journal.released
        following, rows = read_after(position, events_max)
        [position, following, rows.map { |row| Event.new(*row) }]
      end

      # @param refused [Hash{Event=>String}] the events that become dead letters, each with the reason; others have no effect
      def finish(position, following, events, refused)
        parked, delivered = refused.empty? ? [[], events] : events.partition { |event| refused.key?(event) }
        dead = parked.map { |event| DeadLetter.of(event, refused[event], @journal.now_ms) }
        wait_for_room(dead.size)
        settle(position, following, delivered, dead)
        newest = [events.last.accepted_ms, @journal.now_ms].min / 60_000
        until_stored { @ledger.aggregate_before(newest - @bounds.minutes_max) }
        @health.settled
        @parked.call(dead, @journal, position, following) if dead.any?
        @journal.release(following)
      rescue Store::TooLarge # more streams, minutes or dead letters than fit into a transaction of the ledger
        raise if events.one?

        middle, rows = read_after(position, events.size / 2)
        finish(position, middle, events.first(rows.size), refused)
        finish(middle, following, events.drop(rows.size), refused)
      end

      def read_after(position, events_max)
        @journal.read(position, events_max, @bounds.batch_bytes_max)
      rescue Unreadable => e
        @health.failed(e)
        @pause.call(@bounds.retry_seconds)
        retry
      end

      def wait_for_more
        @journal.wait_appended(@journal.released)
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

      # Counts accepted events at least up to the end of the batch. After an outage they can be too many for the transaction of the batch, so each
      # part that ends before it has one of its own.
      def settle(position, following, delivered, dead)
        count_accepted
        while @counted < following
          store_settled(position, position)
          count_accepted
        end
        store_settled(position, following, delivered, dead)
      end

      def store_settled(position, following, delivered = [], dead = [])
        until_stored do
          @ledger.settle(@name, position, [following, @counted], accepted: @uncounted, delivered: delivered, dead: dead)
        end
        @uncounted = []
      end

      def until_stored
        yield
      rescue *LEDGER_ERRORS => e
        @health.stuck(e)
        @pause.call(@bounds.retry_max_seconds)
        retry
      end

      # A part that could not be stored comes first.
      def count_accepted
        @counted, @uncounted = @journal.take_tally if @uncounted.empty?
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  class Sink
    # The background work of a sink in one process: delivers its own journal and adopts journals of dead processes. In a worker both run in fibers
    # of its loop; elsewhere each has a thread with its own loop. They take turns to call the destination.
    class DeliveryWorker
      # @param sink [Sink]
      # @param destination [#deliver, nil] nil delivers nothing
      # @param bounds [Bounds]
      # @param backoff [Backoff]
      # @param pause [#call]
      def initialize(sink, destination, bounds, backoff, pause)
        @sink = sink
        @destination = destination
        @bounds = bounds
        @backoff = backoff
        @pause = pause
        @lock = @process_id = nil
        @adopted = []
      end

      # @param ledger [Ledger]
      # @param clock [Elah::Store::Clock, nil]
      # @return [Journal] open, with a running delivery
      def open(ledger, clock)
        journals = journals(ledger, clock)
        name, journal = journals.open_own(Placement.current.slot)
        return journal unless @destination

        # In a fork, the fiber of the parent that holds the lock never runs.
        @lock = Mutex.new unless @process_id == Process.pid
        @process_id = Process.pid
        beside(journal) { delivery(journal, name, ledger).run || interrupted?(journal) }
        beside(journal) { adopt(journals, ledger, journal, name) }
        journal
      end

      # @param ledger [Ledger]
      # @param clock [Elah::Store::Clock, nil]
      # @return [Journals]
      def journals(ledger, clock) = Journals.new(@sink.folder, ledger, @bounds, clock) { |damages| @sink.damaged(damages) }

      # Closes the journals of dead processes. They are adopted again later.
      #
      # @return [void]
      def close_adopted
        @adopted.pop.close until @adopted.empty?
      end

      private

      def delivery(journal, name, ledger)
        attempts = Attempts.new(@destination, backoff: @backoff, health: @sink.health, seconds: @bounds.attempt_seconds, pause: @pause, lock: @lock)
        share = CpuBudget.new(@bounds.busy_share, pause: @pause) { @sink.pressure }
        Delivery.new(journal, name, ledger: ledger, attempts: attempts, health: @sink.health, bounds: @bounds, pause: @pause, share: share,
                                    parked: @sink.method(:parked))
      end

      # Adopts journals of dead processes while the own one is open. Once closed, the own journal belongs to the process that opens it next.
      def adopt(journals, ledger, own, own_name)
        until own.closed?
          adopt_all(journals, ledger, own, own_name)
          @pause.call(@bounds.adopt_seconds)
        end
      end

      # A journal that cannot be adopted now is tried again later. It affects neither the own journal nor others.
      def adopt_all(journals, ledger, own, own_name)
        names = telling(own) { Journals.names(@sink.folder) - [own_name] } || []
        names.each do |name|
          telling(own) { journals.left?(name) && journals.adopt(name) { |journal| deliver_adopted(journal, name, ledger) } }
        end
      end

      def deliver_adopted(journal, name, ledger)
        @adopted << journal
        delivery(journal, name, ledger).run_to_the_end
      ensure
        @adopted.delete(journal)
      end

      # A report to the loop would end the boot of a worker.
      #
      # @return [Object, nil] the block's value; nil if it failed
      def telling(own)
        yield
      rescue Cancelled
        raise
      rescue StandardError => e
        return if own.closed?

        Log.current.exception(e, "The sink #{@sink.name} cannot take a journal over and tries again later")
        ErrorReports.report(e, sink: @sink.name)
        nil
      end

      # Runs a block in the background. The journal is closed with the loop in which it runs. If the journal is damaged, or the block returns true,
      # the sink starts again once that loop has ended; otherwise the next event opens it.
      def beside(journal, &block)
        work = -> { starts_again?(journal, &block) }
        scheduler = Fiber.scheduler
        if defined?(Scheduler) && scheduler.is_a?(Scheduler)
          Async.new(scheduler.event_loop, parent: nil, task: Task.service) { @sink.start if work.call }
        else
          thread = Thread.new { @sink.start if closing_if_failed(journal) { Elah.run(&work) } }
          thread.thread_variable_set(:fork_safe, true) # workers have deliveries of their own
        end
      end

      # Without a loop, as when the system has no descriptor for it, nothing would deliver what the journal accepts: the next event opens it again.
      def closing_if_failed(journal)
        yield
      rescue StandardError
        @sink.close_if(journal)
        raise
      end

      # Opening the journal again sets the damaged segment aside.
      def starts_again?(journal)
        yield
      rescue Damaged
        true
      ensure
        @sink.close_if(journal) unless worker_ends?
      end

      # A worker closes its sinks when no fiber can push any more.
      def worker_ends?
        event_loop = Elah.current_loop
        !event_loop.nil? && event_loop.server? && event_loop.closing?
      end

      # Whether a delivery has ended while there may be events: a fork has closed its journal, or the delivery of the same journal before the fork
      # has settled its batch.
      def interrupted?(journal) = !journal.closed? || @sink.left?(journal)
    end
  end
end

# frozen_string_literal: true

module Elah
  class Sink
    # What runs behind a sink in one process: the delivery of its own journal, and the look for journals of dead processes. In a worker
    # both are fibers of its loop; elsewhere they have a thread with a loop of its own.
    class Works
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
      end

      # @param ledger [Ledger]
      # @param clock [Elah::Store::Clock, nil]
      # @return [Journal] open, and being delivered
      def open(ledger, clock)
        journals = journals(ledger, clock)
        name, journal = journals.open_own(Placement.current.slot)
        return journal unless @destination

        beside(journal) { delivery(journal, name, ledger).run }
        beside(journal) { adopt(journals, ledger, journal, name) }
        journal
      end

      # @param ledger [Ledger]
      # @param clock [Elah::Store::Clock, nil]
      # @return [Journals]
      def journals(ledger, clock) = Journals.new(@sink.folder, ledger, @bounds, clock) { |damages| @sink.damaged(damages) }

      private

      def delivery(journal, name, ledger)
        attempts = Attempts.new(@destination, backoff: @backoff, health: @sink.health, seconds: @bounds.attempt_seconds, pause: @pause)
        share = Share.new(@bounds.busy_share, pause: @pause) { @sink.pressure }
        Delivery.new(journal, name, ledger: ledger, attempts: attempts, health: @sink.health, bounds: @bounds, pause: @pause, share: share,
                                    parked: @sink.method(:parked))
      end

      # Looks for journals of the dead for as long as the own one is open. The own one, once closed, belongs to whoever opens it next.
      def adopt(journals, ledger, own, own_name)
        until own.closed?
          adopt_all(journals, ledger, own, own_name)
          @pause.call(@bounds.adopt_seconds)
        end
      end

      # What cannot be taken over now is tried again; the own journal has nothing to do with it, nor have the others.
      def adopt_all(journals, ledger, own, own_name)
        names = reporting(own) { journals.left - [own_name] } || []
        names.each { |name| reporting(own) { journals.adopt(name) { |journal| delivery(journal, name, ledger).run_to_the_end } } }
      end

      # @return [Object, nil] the block's value; nil when it failed
      def reporting(own)
        yield
      rescue Cancelled
        raise
      rescue StandardError => e
        Elah.current_loop.report(e) unless own.closed?
        nil
      end

      # Runs a block beside everything else. The journal is closed with the loop that it runs in. When it is damaged, the sink starts again once that
      # loop is left; otherwise the next event opens it.
      def beside(journal, &block)
        work = -> { damaged_at_the_end?(journal, &block) }
        scheduler = Fiber.scheduler
        if defined?(Scheduler) && scheduler.is_a?(Scheduler)
          Async.new(scheduler.event_loop, parent: nil, task: Task.new.tap { |task| task.transient = true }) { @sink.start if work.call }
        else
          require_relative "../own_loop" # two threads that load it at once would warn
          Thread.new { @sink.start if Elah.run(&work) }
        end
      end

      # A new opening sets aside what is damaged.
      def damaged_at_the_end?(journal)
        yield
        false
      rescue Damaged
        true
      ensure
        @sink.close_if(journal)
      end
    end
  end
end

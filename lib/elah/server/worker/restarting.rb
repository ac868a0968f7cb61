# frozen_string_literal: true

module Elah
  class Worker
    # The restart of a single-process server: one trial run at a time, then the drain, then the next image of the process.
    module Restarting
      # As {Worker::GRACE_SECONDS}, for a server that is to go on: it abandons requests and executes its next image meanwhile.
      RESTART_GRACE_SECONDS = 10.0

      private

      # Starts a trial run. Signals during a trial lead to at most one more.
      def restart
        return if @draining
        return @is_trial_due = true if @tries

        @loop.spawn(Task.service) do
          @tries = @is_trial_due = true
          try_to_restart while @is_trial_due && !@draining
        ensure
          @tries = false
        end
      end

      # If the trial succeeds, drains and leaves the sockets to the next image of this process.
      def try_to_restart
        @is_trial_due = false
        @supervisor_link.restarting
        @log.info("Restarting: a trial process loads the code")
        is_possible = Restart.current.possible?(@sockets, @log, frees_ports: true) { |pid| passes?(pid) }
        return if @draining

        if is_possible
          Restart.current.prepare
          start_watchdog(RESTART_GRACE_SECONDS)
          @interrupter = interrupt_after_drain(Thread.current)
          drain(leaves_backlog: true)
        else
          @log.error("The trial process failed: the server continues with the old code")
          @supervisor_link.continuing
        end
      end

      # The next image would have accepted the connections that wait.
      def abandon_restart
        Restart.current.abandon
        @loop.post do
          @loop.take_backlog(@sockets.all)
          @sockets.close
        end
      end

      # A handler that computes keeps the loop from noticing that the time for the drain is over.
      def interrupt_after_drain(thread)
        Thread.new do
          sleep @config.drain_seconds
          loop do
            sleep GRACE_SECONDS
            thread.raise(Cancelled, "The server restarts, and the request has not ended within drain_seconds.")
          end
        end
      end

      # Waits for a trial run, and kills it when it takes too long or this server stops waiting.
      def passes?(pid)
        status = nil
        Elah.timeout(@config.boot_seconds) { status = Process.wait2(pid).last }
        Restart.passed?(status)
      rescue DeadlineExceeded
        @log.error("The trial process did not finish within #{@config.boot_seconds} s: killing it")
        false
      ensure
        kill(pid) unless status
      end

      # A Ruby thread reaps it, so no zombie remains.
      def kill(pid)
        Process.kill(:KILL, pid)
        Process.detach(pid)
      rescue Errno::ESRCH
        nil
      end
    end
  end
end

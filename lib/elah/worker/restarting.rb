# frozen_string_literal: true

module Elah
  class Worker
    # How a server of one process becomes its own successor: one trial run at a time in a process of its own, then the drain, then the next
    # image.
    module Restarting
      private

      # Starts a trial run. However many signals come while one runs, at most one more follows it.
      def restart
        return if @draining
        return @is_trial_due = true if @tries

        @tries = true
        @loop.spawn(Task.new.tap { |task| task.transient = true }) do
          @is_trial_due = true
          try_to_restart while @is_trial_due && !@draining
        ensure
          @tries = false
        end
      end

      # Ends as {Worker#drain} does, and leaves the sockets to the next image of this process, if that is able to load.
      def try_to_restart
        @is_trial_due = false
        @log.info("Restarting: a process of its own tries whether the code loads")
        if Restart.current.possible?(@sockets, frees_ports: true) { |pid| passes?(pid) }
          Restart.current.prepare
          drain(leaves_backlog: true)
        else
          @log.error("The code does not load: the server serves on with what it has")
        end
      end

      # Waits for a trial run. One that does not end in time is killed, and so is one that this server does not wait for any more.
      def passes?(pid)
        status = nil
        Elah.timeout(@config.boot_seconds) { status = Process.wait2(pid).last }
        status.success?
      rescue DeadlineExceeded
        @log.error("The trial run did not end within #{@config.boot_seconds} s: it is killed")
        false
      ensure
        kill(pid) unless status
      end

      # A thread of Ruby's waits for its end, so that no zombie remains.
      def kill(pid)
        Process.kill(:KILL, pid)
        Process.detach(pid)
      rescue Errno::ESRCH
        nil
      end
    end
  end
end

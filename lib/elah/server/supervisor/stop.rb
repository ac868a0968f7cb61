# frozen_string_literal: true

module Elah
  class Supervisor
    # The stop of a server: every worker finishes its requests, and serves calls of other workers until all have finished.
    module Stop
      private

      # The second INT does not wait for requests.
      def stop(signal)
        return abandon if @stopping && signal == "INT" && !@abandoned
        return if @stopping

        @stopping = true
        @log.info("#{signal}: draining #{@workers.children.size} workers")
        @systemd.stopping
        @changes.clear
        end_trial
        @stop_by = Concurrency.now + @config.drain_seconds + Worker::GRACE_SECONDS
        @stop_reason = "it did not drain within #{@config.drain_seconds} s"
        @workers.children.each { |child| stop_child(child) }
        @sockets.close
      end

      # Nobody waits for a worker that boots. One whose "ready" has not been read yet only begins to drain at the signal, and needs the word as well.
      def stop_child(child)
        child.control.say("stop")
        child.kill(:TERM) unless child.ready?
      end

      def continue_stopping
        @table.scoreboard.set_server(:heartbeat_ms, Scoreboard.now_ms)
        give_up if Concurrency.now > @stop_by
        @workers.children.each { |child| child.control.say("end") } if @workers.children.all?(&:drained?)
        @ended = @workers.children.empty?
      end

      # The workers cancel their requests, as one that is alone does.
      def abandon
        @abandoned = true
        @stop_by = Concurrency.now + Worker::GRACE_SECONDS
        @stop_reason = "INT came again, and it did not end within #{Worker::GRACE_SECONDS} s"
        @workers.children.each { |child| child.control.say("abandon") }
      end

      def give_up
        @gave_up = true
        @workers.children.each do |child|
          @log.warn("Killing #{child}: #{@stop_reason}") unless child.killed_for
          child.killed_for = :hangs
          child.kill(:KILL)
        end
      end

      # Logs the exit of a worker that was stopped.
      def note_end(child)
        @gave_up ||= @stopping && child.status&.exitstatus == Worker::DRAIN_EXCEEDED
        child.status&.success? ? @log.info("#{child} has exited") : @log.warn("#{child} exited: #{child.ending}")
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  class Supervisor
    # The stop of a server: every worker finishes its requests, and serves calls of other workers until all have finished.
    module Stop
      private

      # The second INT does not wait for requests.
      def stop(signal)
        return give_up("INT came again") if @stopping && signal == "INT"
        return if @stopping

        @stopping = true
        @log.info("#{signal}: draining #{@workers.children.size} workers")
        @systemd.stopping
        @changes.clear
        end_trial
        @stop_by = Concurrency.now + @config.drain_seconds + Worker::GRACE_SECONDS
        @workers.children.each { |child| child.control.say("stop") }
        @sockets.close
      end

      def continue_stopping
        @table.scoreboard.set_server(:heartbeat_ms, Scoreboard.now_ms)
        give_up("it did not drain within #{@config.drain_seconds} s") if Concurrency.now > @stop_by
        @workers.children.each { |child| child.control.say("end") } if @workers.children.all?(&:drained?)
        @ended = @workers.children.empty?
      end

      def give_up(reason)
        @gave_up = true
        @workers.children.each do |child|
          @log.warn("Killing #{child}: #{reason}") unless child.killed_for
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

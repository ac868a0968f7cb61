# frozen_string_literal: true

module Elah
  class Supervisor
    # How a server ends: every worker answers what it has, and answers the calls of the others until all of them have.
    module Stop
      private

      # The second INT waits for nobody.
      def stop(signal)
        return give_up("INT came again") if @stopping && signal == "INT"
        return if @stopping

        @stopping = true
        @log.info("#{signal}: #{@crew.children.size} workers drain")
        @systemd.stopping
        @changes.clear
        @stop_by = Concurrency.now + @config.drain_seconds + Worker::GRACE_SECONDS
        @crew.children.each { |child| child.control.say("stop") }
        @sockets.close
      end

      def go_on_stopping
        @table.board.set_server(:heartbeat_ms, Board.now_ms)
        give_up("they did not end within #{@config.drain_seconds} s") if Concurrency.now > @stop_by
        @crew.children.each { |child| child.control.say("end") } if @crew.children.all?(&:drained?)
        @ended = @crew.children.empty?
      end

      def give_up(reason)
        @gave_up = true
        @crew.children.each do |child|
          @log.warn("#{child} is killed: #{reason}") unless child.killed_for
          child.killed_for = :hangs
          child.kill(:KILL)
        end
      end

      # Notes the end of a worker that was to end.
      def note_end(child)
        @gave_up ||= @stopping && child.status&.exitstatus == Worker::DRAIN_EXCEEDED
        child.status&.success? ? @log.info("#{child} has ended") : @log.warn("#{child} ended: #{ending(child)}")
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  class Supervisor
    # The restart of a supervisor: a trial run, then the same process with new code, then a replacement of one worker after the other.
    module Restarting
      private

      def restart
        return if @stopping

        @changes.add(:restart) do
          @systemd.reloading
          @log.info("Restarting: a trial process loads the code")
          if !@run_dir.keep(@log)
            @log.error("The run folder #{@run_dir.path} was removed: the workers continue with the old code. Stop the server and start it again")
          elsif possible?
            @restart.prepare
            Fiber.yield while @restart.due? # the next image would not know a change that began now
          else
            @log.error("The trial process failed: the workers continue with the old code")
          end
        ensure
          @systemd.ready unless @restart.due?
        end
      end

      def possible?
        @restart.possible?(@sockets, @log, frees_ports: false, scoreboard: @run_dir.scoreboard_path) { |pid| try(pid) }
      end

      def try(pid)
        @trial = pid
        status = nil
        @changes.wait(@config.boot_seconds) { status = Process.wait2(pid, Process::WNOHANG)&.last }
        @trial = nil if status
        @log.error("The trial process did not finish within #{@config.boot_seconds} s: killing it") unless status || @stopping
        end_trial
        Restart.passed?(status)
      end

      # Kills the trial process, if one runs.
      def end_trial
        return unless @trial

        Process.kill(:KILL, @trial)
        Process.wait(@trial)
        @trial = nil
      end

      # The state for the next image of this process.
      def state
        children = @workers.children.map { |child| child.to_h.merge("is_current" => @workers.slots[child.slot]&.child.equal?(child)) }
        { "sockets" => @sockets.state, "supervisor" => { "folder" => @run_dir.path, "children" => children } }
      end

      def go
        @restart.go(state, [*@sockets.descriptors, *@workers.children.map { |child| child.control.io.fileno }])
      rescue StandardError => e
        @log.exception(e, "The restart failed: the workers continue with the old code")
        @systemd.ready
      ensure
        @signals.trap_all
        @restart.release_signals
      end

      # The workers of the previous image serve until their successors, which have this image's code, take over.
      def adopt(inherited)
        @proven = true
        @workers.slots = @table.slots
        inherited["children"].each do |values|
          child = Child.adopted(values, Concurrency.now)
          @workers.adopt(child)
          slot = @workers.slots[child.slot]
          slot.child = child if slot && values["is_current"]
        end
        @worker ? replace_all : @systemd.ready
      end

      def replace_all
        prepare_to_fork
        old = @workers.children.dup
        @workers.slots.each { |slot| @changes.replace(slot, slot.child, :restarts) if slot.child }
        difference = @config.workers - @workers.slots.size
        difference.abs.times { @changes.resize(difference <=> 0) }
        @changes.add(:restarted) { restarted(old) }
      end

      def restarted(old)
        @run_dir.addresses = @sockets.addresses
        kept = @workers.slots.count { |slot| old.include?(slot.child) }
        if kept.zero?
          @log.info("Restarted; listening on #{@sockets.addresses}")
        else
          @log.error("Restarted, except #{kept} of #{@workers.slots.size} workers, which continue with the old code")
        end
        @systemd.ready
      end
    end
  end
end

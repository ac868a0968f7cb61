# frozen_string_literal: true

module Elah
  class Supervisor
    # How a supervisor becomes the next image of itself, and how that goes on with what it finds: first a trial run, then the same process
    # with new code, then one worker after the other.
    module Restarting
      private

      def restart
        return if @stopping

        @changes.add(:restart) do
          @systemd.reloading
          @log.info("Restarting: a process of its own tries whether the code loads")
          if @restart.possible?(@sockets, frees_ports: false) { |pid| try(pid) }
            @restart.prepare
          else
            @log.error("The code does not load: the workers serve on with what they have")
            @systemd.ready
          end
        end
      end

      def try(pid)
        status = nil
        @changes.wait(@config.boot_seconds) { status = Process.wait2(pid, Process::WNOHANG)&.last } and return status.success?

        Process.kill(:KILL, pid)
        Process.wait(pid)
        false
      end

      # What the next image of this process has to know.
      def state
        children = @crew.children.map { |child| child.to_h.merge("is_current" => @crew.slots[child.slot]&.child.equal?(child)) }
        { "sockets" => @sockets.state, "supervisor" => { "folder" => @run_dir.path, "children" => children } }
      end

      def go
        @restart.go(state, [*@sockets.descriptors, *@crew.children.map { |child| child.control.io.fileno }])
      rescue SystemCallError => e
        @log.exception(e, "The restart failed: the workers serve on with what they have")
        @signals.trap_all
      end

      # The workers of the image before this one serve on until their successors, which have this image's code, take over.
      def adopt(inherited)
        @proven = true
        prepare_to_fork
        @crew.slots = @table.slots
        inherited["children"].each do |values|
          child = Child.adopted(values, Concurrency.now)
          @crew.adopt(child)
          slot = @crew.slots[child.slot]
          slot.child = child if slot && values["is_current"]
        end
        old = @crew.children.dup
        @crew.slots.each { |slot| @changes.replace(slot, slot.child, :restarts) if slot.child }
        difference = @config.workers - @crew.slots.size
        difference.abs.times { @changes.resize(difference <=> 0) }
        @changes.add(:restarted) { restarted(old) }
      end

      def restarted(old)
        @run_dir.addresses = @sockets.addresses
        kept = @crew.slots.count { |slot| old.include?(slot.child) }
        if kept.zero?
          @log.info("Restarted; listening on #{@sockets.addresses}")
        else
          @log.error("Restarted, but for #{kept} of #{@crew.slots.size} workers, which serve on with the code of before")
        end
        @systemd.ready
      end
    end
  end
end

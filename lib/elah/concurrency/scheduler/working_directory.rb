# frozen_string_literal: true

module Elah
  class Scheduler
    # `Dir.chdir` with a block, in the tasks of a loop. A process has one working directory. Ruby refuses other threads while a thread is in such a
    # block; here a task refuses other tasks of its thread likewise.
    module WorkingDirectory
      # As Ruby's.
      CONFLICT = "conflicting chdir during another chdir block"
      private_constant :CONFLICT

      # Calls the block, which changes the directory.
      #
      # @param reverts [Boolean] whether it changes it back before it returns
      # @raise [RuntimeError] while another task is in such a block
      def self.change(reverts)
        task = Elah.current_loop&.current_task
        raise CONFLICT if task && @changed_by && !@changed_by.equal?(task)
        return yield if task.nil? || @changed_by || !reverts

        begin
          @changed_by = task
          yield
        ensure
          @changed_by = nil
        end
      end

      # Prepended to the class methods of Dir.
      module ClassMethods
        # Refuses to change the directory of another task.
        def chdir(*, &block) = WorkingDirectory.change(!block.nil?) { super }

        if ::Dir.respond_to?(:fchdir)
          # As {#chdir}.
          def fchdir(*, &block) = WorkingDirectory.change(!block.nil?) { super }
        end
      end

      if ::Dir.method_defined?(:chdir)
        # As {ClassMethods#chdir}.
        def chdir(&block) = WorkingDirectory.change(!block.nil?) { super }

        ::Dir.prepend(self)
      end

      ::Dir.singleton_class.prepend(ClassMethods)
    end
  end
end

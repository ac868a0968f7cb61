# frozen_string_literal: true

module Elah
  module Offload
    # One block that a thread runs for a fiber. It has a task and a fiber of its own, so it finds nothing that the blocks before it have left in the
    # thread, and what it has acquired returns at its end.
    class Job
      # Ruby 3.2 and later have variables that a fiber inherits.
      HAS_STORAGE = Fiber.method_defined?(:storage)
      private_constant :HAS_STORAGE

      # @return [Elah::Task] its own
      attr_reader :task

      # @return [Thread, nil] the thread that the block has ended, with `Thread.exit` or `Thread.current.kill`
      attr_reader :ended_thread

      # @param event_loop [Elah::EventLoop] of the fiber that waits
      # @param block [Proc]
      def initialize(event_loop, block)
        @loop = event_loop
        @block = block
        @lock = Thread::Mutex.new
        @shields = 0
        @task = Task.new
        @task.deadline = Concurrency.due_of(event_loop.current_task)
        @fiber_options = HAS_STORAGE ? { storage: Fiber.current.storage } : {}
      end

      # Runs the block, in a thread of the pool.
      def run
        @lock.synchronize { @done ? return : @thread = Thread.current }
        Fiber.new(blocking: true, **@fiber_options) { call_block }.resume
        returned = true
      rescue Exception => e # -- the fiber raises it
        @failure = e
      ensure
        note_end unless returned || @failure || @thread.nil?
        finish
      end

      # Waits for the block, in the fiber.
      #
      # @return [Object] the block's value
      # @raise [Exception] what the block raised, or what ended the wait
      def value
        interruption = nil
        (waiting = @loop.current_task).job = self
        until @done
          begin
            wait
          rescue Exception => e # -- it is raised again when the thread is out of the block
            interruption ||= e
            interrupt(e)
          end
        end
        raise interruption if interruption
        raise @failure if @failure

        @value
      ensure
        waiting.job = nil
      end

      # Runs a part of the block, in its thread. What cancels the fiber meanwhile is raised at the end of the part.
      #
      # @return [Object] the part's value
      # @raise [Exception] the deferred exception
      def shielded
        is_inside = nil
        # What has been raised before comes at the end of the mask, and nothing after that.
        Thread.handle_interrupt(Exception => :never) { is_inside = @lock.synchronize { @shields += 1 } }
        yield
      ensure
        deferred = leave_shield if is_inside
        raise deferred if deferred && Thread.current.status != "aborting" # which would end the process's kill of the thread
      end

      # @return [Boolean] whether it runs such a part
      def shielded? = @shields.positive?

      private

      def leave_shield
        @lock.synchronize do
          @shields -= 1
          @deferred.tap { @deferred = nil } if @shields.zero?
        end
      end

      def call_block
        @task.fiber = Fiber.current
        Thread.current.thread_variable_set(Concurrency::OFFLOADED_JOB, self)
        @value = Thread.handle_interrupt(Exception => :immediate) { @block.call }
      rescue Exception => e # -- as above
        @failure = e
      ensure
        @loop.end_fork(@failure)
        task.finish { |exception| @loop.post { @loop.spawn(Task.transient) { @loop.report(exception) } } } if task.endings
        Thread.current.thread_variable_set(Concurrency::OFFLOADED_JOB, nil)
      end

      def wait
        @wait = @loop.new_wait
        @loop.park(@wait) unless @done
      end

      def note_end
        @ended_thread = Thread.current
        @failure = ThreadError.new("The block of Elah.offload has ended its thread.")
      end

      def finish
        @lock.synchronize { @thread = nil }
        drop_late_interrupts
        @done = true
        @loop.end_wait(@wait) if @wait
      end

      # Acquired with try_lock: the holder is a thread that releases it at once, and a fiber that slept here could be cancelled again.
      def interrupt(exception)
        Thread.pass until @lock.try_lock
        return @deferred ||= exception if @shields.positive?
        return @thread.raise(exception) if @thread

        @done = true
        @block = nil # the queue keeps the job until a thread comes to it
      ensure
        @lock.unlock if @lock.owned?
      end

      # An exception that was raised while the block returned.
      def drop_late_interrupts
        Thread.handle_interrupt(Exception => :immediate) { Thread.pass } while Thread.pending_interrupt?
      rescue Exception
        retry
      end
    end
  end
end

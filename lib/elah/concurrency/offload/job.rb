# frozen_string_literal: true

module Elah
  module Offload
    # One block that a thread runs for a fiber.
    class Job
      # @return [Thread, nil] the thread that the block has ended, with `Thread.exit` or `Thread.current.kill`
      attr_reader :ended_thread

      # @param event_loop [Elah::EventLoop] of the fiber that waits
      # @param block [Proc]
      def initialize(event_loop, block)
        @loop = event_loop
        @block = block
        @lock = Thread::Mutex.new
      end

      # Runs the block, in a thread of the pool.
      def run
        @lock.synchronize { @done ? return : @thread = Thread.current }
        @value = Thread.handle_interrupt(Exception => :immediate) { @block.call }
        returned = true
      rescue Exception => e # -- the fiber raises it
        @failure = e
      ensure
        @loop.end_fork(@failure)
        note_end unless returned || @failure || @thread.nil?
        finish
      end

      # Waits for the block, in the fiber.
      #
      # @return [Object] the block's value
      # @raise [Exception] what the block raised, or what ended the wait
      def value
        interruption = nil
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
      end

      private

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

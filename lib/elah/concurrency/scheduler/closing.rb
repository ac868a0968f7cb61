# frozen_string_literal: true

module Elah
  class Scheduler
    # IO#close while a fiber waits for the descriptor. Until Ruby 4.0, Ruby would raise in the thread of the waiter, which runs the loop and all
    # fibers; from 4.0 on, it would leave a fiber waiting in IO.select. Here only the waiter gets the IOError, and it stops waiting before the
    # descriptor is closed.
    module Closing
      # The descriptors for which fibers of one loop wait.
      class Watches
        # @param event_loop [Elah::EventLoop] of this thread
        def initialize(event_loop)
          @loop = event_loop
          @thread = Thread.current
          @process_id = Process.pid
          @tasks = {}
          @closing = {}
        end

        # Records, during the block, that a task waits for descriptors.
        #
        # @param descriptors [Array<Integer>]
        # @param task [Elah::Task]
        # @raise [IOError] when one of them is closed meanwhile
        def during(descriptors, task)
          raise closed if descriptors.any? { |descriptor| @closing[descriptor] }

          descriptors.each { |descriptor| (@tasks[descriptor] ||= []) << task }
          begin
            yield
          ensure
            descriptors.each { |descriptor| @tasks.delete(descriptor) if @tasks[descriptor].tap { |tasks| tasks.delete(task) }.empty? }
          end
        end

        # Returns when no fiber waits for the descriptor. May be called from any thread.
        #
        # @param descriptor [Integer]
        def release(descriptor)
          return unless @tasks.key?(descriptor) && Process.pid == @process_id

          @closing[descriptor] = true
          Thread.current.equal?(@thread) ? release_here(descriptor) : release_there(descriptor)
        ensure
          @closing.delete(descriptor)
        end

        private

        def release_here(descriptor)
          interrupt(descriptor)
          @loop.yield_to_others if @loop.in_task?
        end

        def release_there(descriptor)
          released = Thread::Queue.new
          @loop.post do
            interrupt(descriptor)
            @loop.post { released << true } # in the next iteration: the waiters have run by then
          end
          released.pop
        end

        # Those that are cancelled already leave too, and have nothing to do with the descriptor in their next wait.
        def interrupt(descriptor)
          @tasks[descriptor]&.each { |task| @loop.fail_wait(task, closed) unless task.raising }
        end

        def closed = IOError.new("stream closed in another fiber")
      end

      @all = [].freeze

      class << self
        # @param event_loop [Elah::EventLoop] of this thread
        # @return [Watches]
        def watches_of(event_loop) = Watches.new(event_loop).tap { |watches| @all = [*@all, watches].freeze }

        # @param watches [Watches] of a loop that has ended
        def forget(watches) = @all = (@all - [watches]).freeze

        # @param descriptor [Integer] the descriptor that is about to be closed
        def release(descriptor)
          @all.each { |watches| watches.release(descriptor) }
        rescue Ractor::IsolationError
          nil # another Ractor closes it, for which no fiber of a loop waits
        end
      end

      # Closes the stream when no fiber waits for it.
      def close
        Closing.release(fileno) unless closed?
        super
      end

      IO.prepend(self)
    end
  end
end

# frozen_string_literal: true

require_relative "../../errors"
require_relative "job"

module Elah
  module Offload
    # A pool of threads that start on demand, up to a limit, with a limited queue.
    class Pool
      # @return [Integer] maximum number of running blocks
      attr_reader :threads_max

      # @return [Integer] maximum number of waiting blocks
      attr_reader :queue_max

      # @param threads [Integer] maximum number of running blocks
      # @param queue_max [Integer] maximum number of waiting blocks
      # @param name [String] name of the threads
      # @raise [ArgumentError] when there are no threads
      def initialize(threads:, queue_max: 1024, name: "elah offload")
        raise ArgumentError, "A pool needs at least 1 thread, not #{threads}." unless threads.positive?

        @threads_max = threads
        @queue_max = queue_max
        @name = name
        reset
      end

      # Runs the block in a thread of the pool while only the calling fiber waits. Outside a fiber of a loop, and in a thread of a pool, it calls
      # the block directly.
      #
      # If the fiber is cancelled or timed out meanwhile, the exception is raised in the block too. The fiber continues when the block has ended, so
      # the block's resources are no longer in use. A block that has not begun never runs.
      #
      # @yieldreturn [T]
      # @return [T] the block's value
      # @raise [Exception] what the block raised, with its backtrace
      # @raise [Elah::Overloaded] when `queue_max` other blocks wait already
      def call(&block)
        event_loop = Elah.current_loop or return yield

        reset unless @process_id == Process.pid
        raise Overloaded, full if open_jobs >= @threads_max + @queue_max

        job = Job.new(event_loop, block)
        @jobs[job] = true
        start_thread if @jobs.size > @threads.size && @threads.size < @threads_max
        @queue << job
        job.value
      ensure
        @jobs.delete(job) if job
        replace(job.ended_thread) if job&.ended_thread
      end

      # @return [Integer] started threads
      def size = @threads.size

      # @return [Integer] blocks that wait for a thread
      def waiting = [@jobs.size - @threads_max, 0].max

      private

      # A fork does not have its parent's threads.
      def reset
        @process_id = Process.pid
        @queue = Thread::Queue.new
        @threads = []
        @jobs = {}.compare_by_identity # a Hash, as several threads may call: its operations are whole
      end

      # The queue keeps a cancelled block until a thread comes to it.
      def open_jobs = [@jobs.size, @queue.size].max

      def full = "#{@threads_max} threads are busy and #{open_jobs - @threads_max} blocks wait for them: try again later."

      def replace(thread)
        @threads.delete(thread)
        start_thread if @jobs.size > @threads.size
      end

      def start_thread
        @threads << Thread.new(@queue) do |queue|
          Thread.current.name = @name
          # An exception that is meant for one job must not reach the next.
          Thread.handle_interrupt(Exception => :never) do
            while (job = queue.pop)
              job.run
            end
          end
        end
      end
    end
  end
end

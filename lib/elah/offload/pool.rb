# frozen_string_literal: true

require_relative "../errors"
require_relative "job"

module Elah
  module Offload
    # Threads that are started when they are needed, up to a bound, and a bounded queue in front of them.
    class Pool
      # @return [Integer] the most that run at once
      attr_reader :threads_max

      # @return [Integer] the most that wait for a thread
      attr_reader :queue_max

      # @param threads [Integer] the most that run at once
      # @param queue_max [Integer] the most that wait for a thread
      # @param name [String] of the threads
      # @raise [ArgumentError] when there would be no thread
      def initialize(threads:, queue_max: 1024, name: "elah offload")
        raise ArgumentError, "A pool needs at least 1 thread, not #{threads}." unless threads.positive?

        @threads_max = threads
        @queue_max = queue_max
        @name = name
        start_afresh
      end

      # Runs the block in a thread of the pool and waits for it, the calling fiber alone. Outside a fiber of a loop, and in a thread of a
      # pool, it just calls the block.
      #
      # A fiber that is cancelled or timed out meanwhile has the exception raised in the block too, and goes on when the block has
      # ended: what the block used is not in use any more then. A block that has not begun never runs.
      #
      # @return [Object] the block's value
      # @raise [Exception] what the block raised, with its backtrace
      # @raise [Elah::Overloaded] when `queue_max` others wait already
      def call(&block)
        event_loop = Elah.current_loop or return yield

        start_afresh unless @process_id == Process.pid
        raise Overloaded, full if @jobs.size >= @threads_max + @queue_max

        job = Job.new(event_loop, block)
        @jobs[job] = true
        start_thread if @jobs.size > @threads.size && @threads.size < @threads_max
        @queue << job
        job.value
      ensure
        @jobs.delete(job) if job
      end

      # @return [Integer] threads that have been started
      def size = @threads.size

      # @return [Integer] blocks that wait for a thread
      def waiting = [@jobs.size - @threads_max, 0].max

      private

      # A fork has none of its parent's threads.
      def start_afresh
        @process_id = Process.pid
        @queue = Thread::Queue.new
        @threads = []
        @jobs = {}.compare_by_identity # a Hash, as several threads may call: its operations are whole
      end

      def full = "#{@threads_max} threads are busy and #{@jobs.size - @threads_max} blocks wait for them: try again later."

      def start_thread
        @threads << Thread.new(@queue) do |queue|
          Thread.current.name = @name
          # An exception that is meant for one job must not meet the next.
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

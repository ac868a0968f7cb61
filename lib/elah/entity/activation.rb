# frozen_string_literal: true

module Elah
  class Entity
    # The life of one key in this worker: the entity while it is in memory, who calls it now, and who waits for that.
    class Activation
      # One fiber that waits for its turn.
      Waiter = Struct.new(:event_loop, :task, :id, :is_granted)
      private_constant :Waiter

      # @return [String]
      attr_reader :key

      # @return [Integer]
      attr_reader :shard

      # @return [Elah::Shards::State, nil]
      attr_reader :state

      # @return [Elah::Task, nil] who calls it now
      attr_reader :runner

      # @return [Activation, nil] the one whose method has called this
      attr_reader :outer

      # @param region [Region]
      # @param key [String]
      # @param shard [Integer]
      def initialize(region, key, shard)
        @region = region
        @commits = region.commits
        @key = key
        @shard = shard
        @entity = @state = @runner = @outer = @line = nil
        @run_batch = 0
      end

      # @return [Integer] the number of the last batch with writes of this entity, 0 for none
      def batch = @state ? @state.last_batch : 0

      # @return [Integer] what {#batch} was when {#run} returned last
      attr_reader :run_batch

      # @return [Boolean] whether a call has ended since this was asked last
      def take_used = @state ? @state.take_used : false

      # Runs one call, when those before it have ended. What it wrote is gathered in the batch {#batch}.
      #
      # @param task [Elah::Task]
      # @param name [Symbol]
      # @param arguments [Array]
      # @return [Object] the method's value
      def run(task, name, arguments)
        @runner ? wait_for_turn(task) : @runner = task
        @outer = task.activation
        task.activation = self
        is_whole = false
        begin
          given = (@entity && @state.admit(arguments)) || come_to_life(arguments)
          answer = @state.finish(@entity.__send__(name, *given))
          @run_batch = batch = @state.last_batch
          @commits.plan(batch) if batch > @commits.planned
          is_whole = true
          answer
        rescue Refusal
          is_whole = !@state&.gathered?
          raise
        rescue Shards::NotCopied => e
          raise @region.not_serializable(name, e)
        ensure
          task.activation = @outer
          forget unless is_whole
          @line ? leave : @runner = nil
        end
      end

      # Ends a call that was made natively.
      #
      # @param task [Elah::Task] that has made it
      # @param error [Exception, nil] what has ended it
      def abort(task, error)
        task.activation = @outer
        forget unless error.is_a?(Refusal) && !@state.gathered?
        @line ? leave : @runner = nil
      end

      # Whether it can leave memory: nobody calls it, and all that it wrote is settled.
      #
      # @param settled [Integer] the number of a batch
      # @return [Boolean]
      def idle?(settled) = @runner.nil? && batch <= settled

      # Waits for the turn that comes after all calls that have come before.
      def wait_until_idle
        return unless @runner

        event_loop = @region.event_loop
        wait_in(@line ||= [], Waiter.new(event_loop, event_loop.current_task, event_loop.new_wait, false))
        leave
      end

      # @return [String] what names it among all workers
      def identity = "#{@region.name}[#{@key.encoding == Encoding::UTF_8 ? @key : @key.inspect}]"

      private

      # What was changed in memory and not gathered is lost; the next call restores what is stored.
      def forget
        @state&.discard
        @entity = nil
      end

      # @return [Array] the arguments as the entity gets them
      def come_to_life(arguments)
        @entity = nil
        @commits.settle(batch)
        report_loss if @state&.failed? && !@region.durable?
        @state = @region.open_state(@shard, @key)
        @entity = @region.new_entity(@key, @state)
        @state.admit(arguments) or raise Moved, "Another process has claimed #{identity}."
      end

      # Nobody waited for these writes, so nobody else says that they are gone.
      def report_loss
        @state.check(batch)
      rescue Store::Error => e
        lost = Lost.new("The last answers of #{identity} are lost, as they could not be stored: #{e.message}")
        @region.event_loop&.report(lost)
      end

      def wait_for_turn(task)
        Chain.check(self, task)
        line = @line ||= []
        if line.size >= @region.queue_max
          raise Overloaded, "#{line.size} calls wait for #{identity} already: try again later."
        end

        event_loop = @region.event_loop or raise OutsideLoop, "#{identity} is busy, and only a fiber of a loop can wait for it."
        wait_in(line, Waiter.new(event_loop, task, event_loop.new_wait, false))
      end

      def wait_in(line, waiter)
        task = waiter.task
        line << waiter
        task.wait = waiter.id
        task.awaits = self
        waiter.event_loop.park(waiter.id)
      ensure
        task.awaits = nil
        task.settle
        line.delete(waiter) unless waiter.is_granted
      end

      # The turn goes to whoever waits longest, and to nobody in between.
      def leave
        return @runner = nil unless @line

        waiter = @line.shift
        @line = nil if @line.empty?
        return @runner = nil unless waiter

        @runner = waiter.task
        @runner.awaits = nil # now, and not when it goes on: a call that comes before would follow it in a circle
        waiter.is_granted = true
        waiter.task.wake
        waiter.event_loop.end_wait(waiter.id)
      end
    end
  end
end

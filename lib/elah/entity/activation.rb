# frozen_string_literal: true

module Elah
  class Entity
    # An active entity in this worker: the instance, its current caller and its queue of waiting callers.
    class Activation
      # A fiber that waits for its turn.
      Waiter = Struct.new(:event_loop, :task, :id, :is_granted)
      private_constant :Waiter

      # @return [String]
      attr_reader :key

      # @return [Integer]
      attr_reader :shard

      # @return [Elah::Shards::State, nil]
      attr_reader :state

      # @return [Elah::Task, nil] its current caller
      attr_reader :runner

      # @return [Activation, nil] the entity whose method has called this one
      attr_reader :outer

      # @return [Boolean] whether it has left its collection: only calls that wait for it already run in it, and what they call
      def leaving? = @is_leaving

      # @param collection [Collection]
      # @param key [String]
      # @param shard [Integer]
      def initialize(collection, key, shard)
        @collection = collection
        @commits = collection.commits
        @key = key
        @shard = shard
        @term = collection.term_of(shard)
        @entity = @state = @runner = @outer = @line = nil
        @run_batch = 0
        @process_id = Process.pid
        @is_leaving = false
      end

      # @return [Boolean] whether results wait for the disk even with `durability :memory`: the entity leaves this worker, or the last changes of
      #   its shard were lost
      def cautious? = @is_leaving || @state&.on_trial?

      # Nobody stores later what its calls leave in memory.
      def leave_collection
        @is_leaving = true
      end

      # @return [Integer] the number of the last batch with writes of this entity; 0 if there is none
      def batch = @state ? @state.last_batch : 0

      # @return [Integer] the value of {#batch} when {#run} returned last
      attr_reader :run_batch

      # @return [Boolean] whether a call has ended since the last check
      def take_used = @state ? @state.take_used : false

      # Runs one call when all earlier ones have ended. Its writes are part of the batch {#batch}.
      #
      # @param task [Elah::Task]
      # @param name [Symbol]
      # @param arguments [Array]
      # @return [Object] the method's value
      def run(task, name, arguments)
        @runner ? wait_in_line(task) : @runner = task
        @outer = task.activation
        task.activation = self
        started = task.started_count
        is_whole = false
        begin
          given = (@entity && @state.admit(arguments)) || restore_entity(arguments)
          reply = finish(@entity.__send__(name, *given))
          is_whole = true
          reply
        rescue Refusal => e
          is_whole = end_refused(e)
          raise
        rescue Shards::NotCopied => e
          raise @collection.not_serializable(name, e)
        ensure
          task.activation = @outer
          task.end_children_since(started) if task.started_count > started
          forget unless is_whole
          @line ? leave : @runner = nil
        end
      end

      # Whether the entity can leave memory: it has no caller, and all its writes are settled.
      #
      # @param settled [Integer] the number of a batch
      # @return [Boolean]
      def idle?(settled) = @runner.nil? && batch <= settled

      # Reports changes that returned from memory and were not stored: nobody waits for them.
      def report_loss
        @state.check(batch) unless @state.nil? || @collection.durable? || @state.on_trial?
      rescue Store::Error => e
        lost = Lost.new("The last changes of #{identity} are lost because they could not be stored: #{e.message}")
        @collection.event_loop&.report(lost)
      end

      # Waits until all earlier calls have ended.
      def wait_until_idle
        return unless @runner

        event_loop = @collection.event_loop
        wait_in(@line ||= [], Waiter.new(event_loop, event_loop.current_task, event_loop.new_wait, false))
        leave
      end

      # @return [String] its identity among all workers
      def identity = "#{@collection.name}[#{@key.encoding == Encoding::UTF_8 ? @key : @key.inspect}]"

      private

      def finish(result)
        reply = @state.finish(result)
        @run_batch = batch = @state.last_batch
        return reply unless batch > @commits.planned

        refuse_fork unless @collection.event_loop
        @commits.plan(batch)
        reply
      end

      # Nobody stores what a fork has written that returns from the method which has made it: it would wait for that for ever.
      def refuse_fork
        return if Process.pid == @process_id

        raise Error, "A fork returned from the method of #{identity} that made it: pass a block to fork, or end the fork with exit!."
      end

      # A refusal tells its caller what earlier calls have changed, as a result does.
      #
      # @return [Boolean] whether the call has changed nothing, as it promises
      def end_refused(refusal)
        is_whole = refusal.end_promise && !@state.gathered?
        @state.discard
        finish(nil)
        is_whole
      end

      # Drops changes in memory that are not gathered; the next call restores the stored state.
      def forget
        @state&.discard
        @entity = nil
      end

      # @return [Array] the arguments as the entity receives them
      def restore_entity(arguments)
        @entity = nil
        @commits.settle_now(batch)
        report_loss
        @state = @collection.open_state(@shard, @key)
        term = @collection.term_of(@shard)
        # After the term in which it left, another activation may have the entity, here too.
        raise Moved, "#{identity} belongs to another term of its shard." if @is_leaving && term != @term

        @term = term
        @entity = @collection.new_entity(@key, @state)
        @state.admit(arguments) or raise Moved, "Another process has claimed #{identity}."
      end

      def wait_in_line(task)
        Chain.check(self, task)
        line = @line ||= []
        if line.size >= @collection.queue_max
          raise Overloaded, "#{line.size} calls wait for #{identity} already: try again later."
        end

        event_loop = @collection.event_loop or raise OutsideLoop, "#{identity} is busy, and only a fiber of a loop can wait for it."
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
        line.delete(waiter) unless waiter.is_granted
      end

      # The longest waiting fiber is next, and no other in between.
      def leave
        return @runner = nil unless @line

        waiter = @line.shift
        @line = nil if @line.empty?
        return @runner = nil unless waiter

        @runner = waiter.task
        @runner.awaits = nil # now, and not when it goes on: a call that comes before would follow it in a circle
        waiter.is_granted = true
        waiter.task.wake(waiter.id)
        waiter.event_loop.end_wait(waiter.id)
      end
    end
  end
end

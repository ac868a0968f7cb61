# frozen_string_literal: true

module Elah
  class Entity
    # Calls that are made in order, by one fiber or by several that share them, and their outcomes.
    class ManyCalls
      # @param collection [Collection]
      # @param calls [Array<Array>] each a key, the name of a method, and its arguments
      def initialize(collection, calls)
        @collection = collection
        @here = collection.activations
        @commits = collection.commits
        @is_durable = collection.durable?
        @settled = @commits.settled
        @calls = calls
        @loop = Elah.current_loop
        @begun = 0
        @replies = Array.new(calls.size, NONE)
        @states = []
        @batches = []
        @last = @settled
        @is_cautious = false
        @name = NONE
        @method_name = nil
        @is_failed = false
      end

      NONE = Object.new.freeze
      NO_ARGUMENTS = [].freeze
      private_constant :NONE, :NO_ARGUMENTS

      # @return [Boolean] whether there are calls that no fiber has begun
      def more? = @begun < @calls.size

      # Runs the calls of entities in this worker that no other fiber has begun, and waits for the disk once.
      #
      # @param task [Elah::Task]
      # @return [Array] the result of each call, or the exception that ended it
      # @raise [Exception] the exception that cancelled the task
      def run(task)
        while more?
          index = @begun
          @begun += 1
          run_one(task, index, @calls[index])
        end
        @collection.conclude_all(@last, @is_cautious) if @last > @settled
        check_stored
        @replies
      end

      # @return [Boolean] whether a call has ended with an exception
      def failed? = @is_failed

      # @return [Array, nil] the results when all calls have succeeded; otherwise nil
      def replies = (@replies unless @is_failed)

      # @param index [Integer]
      # @return [Array] outcome, result and error, also while others still run
      def outcome(index)
        reply = @replies[index]
        return [:late, nil, nil] if reply.equal?(NONE) || (@batches[index] && !@collection.safe?(@batches[index]))

        reply = failure(index) || reply
        reply.is_a?(Exception) ? [:failed, nil, reply] : [:returned, reply, nil]
      end

      private

      def run_one(task, index, call)
        ended_before = task.ended_by
        key, name, = call
        unless name.equal?(@name)
          @method_name = @collection.method_named(name)
          @name = name
        end
        method_name = @method_name # another fiber may set it while this one waits
        activation = @here[key] || @collection.resident!(key)
        reply = activation.run(task, method_name, call.size > 2 ? call.drop(2) : NO_ARGUMENTS)
        note(index, activation)
        @replies[index] = reply
      rescue StandardError, ScriptError, SystemStackError, SystemExit => e # a time limit is none of these
        note_failure(index, e, ended_before)
        note(index, activation) if e.is_a?(Refusal)
      end

      # The cancellation of the task is not the outcome of one call, nor is what ends a fork that the entity's method has made.
      def note_failure(index, error, ended_before)
        raise error if @collection.cancels?(error, ended_before) || !Elah.current_loop.equal?(@loop) || (@loop.nil? && error.is_a?(SystemExit))

        @is_failed = true
        @replies[index] = error
      end

      # Results that do not wait for the disk are not checked again.
      def note(index, activation)
        batch = activation.run_batch
        return if batch <= @settled

        @last = batch if batch > @last
        return unless @is_durable || (is_cautious = activation.cautious?)

        @is_cautious ||= is_cautious
        @states[index] = activation.state
        @batches[index] = batch
      end

      def check_stored
        @states.each_index do |index|
          error = failure(index) or next
          @is_failed = true
          @replies[index] = error
        end
      end

      def failure(index)
        @states[index]&.check(@batches[index])
        nil
      rescue Store::Error => e
        e
      end
    end
  end
end

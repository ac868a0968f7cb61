# frozen_string_literal: true

module Elah
  class Entity
    # Calls that one fiber makes one after the other, and what became of each. Those of idle entities in memory are made natively, without a
    # frame of Ruby but the method's own.
    class ManyCalls
      include Shards::IdleCalls

      # @param region [Region]
      # @param calls [Array<Array>, CallColumns] each a key, the name of a method, and its arguments
      # @raise [NoMethodError] when the method of columns is not public
      def initialize(region, calls)
        @region = region
        @here = region.activations
        @commits = region.commits
        @is_durable = region.durable?
        @settled = @commits.settled
        @calls = calls
        @answers = Array.new(calls.size, NONE)
        @states = []
        @batches = []
        @last = @settled
        @name = calls.is_a?(CallColumns) ? region.check_name(calls.name) : nil
        @is_failed = false
      end

      NONE = Object.new.freeze
      NO_ARGUMENTS = [].freeze
      private_constant :NONE, :NO_ARGUMENTS

      # Runs those that are for entities of this worker, and waits for the disk once.
      #
      # @param task [Elah::Task]
      # @return [Array] for each its answer, or the exception with which it ended
      # @raise [Exception] what ended the task from outside
      def run(task)
        index = @name ? run_idle(task, 0) : 0
        while index < @calls.size
          run_one(task, index, @calls[index])
          index = run_idle(task, index + 1)
        end
        @region.conclude_all(@last) if @last > @settled
        check_stored
        @answers
      end

      # @return [Boolean] whether a call has ended with an exception
      def failed? = @is_failed

      # @return [Array, nil] the answers when all calls have run; nil unless each has ended well
      def answers = (@answers unless @is_failed)

      # @param index [Integer]
      # @return [Array] outcome, answer and error, also while others still run
      def outcome(index)
        answer = @answers[index]
        return [:late, nil, nil] if answer.equal?(NONE) || !@region.safe?(@batches[index] || 0)

        answer = failure(index) || answer
        answer.is_a?(Exception) ? [:failed, nil, answer] : [:answered, answer, nil]
      end

      private

      def run_one(task, index, call)
        key, name, = call
        @name = @region.check_name(name) unless name.equal?(@name)
        activation = @region.resident!(key)
        answer = activation.run(task, name, call.size > 2 ? call.drop(2) : NO_ARGUMENTS)
        batch = activation.run_batch
        note(index, activation, batch) if batch > @last || (@is_durable && batch > @settled)
        @answers[index] = answer
      rescue StandardError => e
        note_failure(index, e)
      end

      # A call that was made natively has ended with an exception.
      def call_failed(task, index, activation, error)
        activation.abort(task, error)
        error = @region.not_serializable(@name, error) if error.is_a?(Shards::NotCopied)
        raise error unless error.is_a?(StandardError)

        note_failure(index, error)
      end

      # What ends the task from outside is no answer of one call.
      def note_failure(index, error)
        raise error if error.is_a?(Cancelled) || error.is_a?(ClientGone) || Elah.deadline&.zero?

        @is_failed = true
        @answers[index] = error
      end

      # Answers that do not wait for the disk are not looked at again.
      def note(index, activation, batch)
        @last = batch if batch > @last
        return unless @is_durable

        @states[index] = activation.state
        @batches[index] = batch
      end

      def check_stored
        @states.each_index do |index|
          error = failure(index) or next
          @is_failed = true
          @answers[index] = error
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

# frozen_string_literal: true

module Elah
  class Entity
    # Calls that one fiber makes one after the other, and what became of each.
    class ManyCalls
      # @param region [Region]
      # @param calls [Array<Array>] each a key, the name of a method, and its arguments
      def initialize(region, calls)
        @region = region
        @commits = region.commits
        @calls = calls
        @answers = Array.new(calls.size, NONE)
        @states = Array.new(calls.size)
        @batches = Array.new(calls.size)
        @last = 0
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
        index = -1
        run_one(task, index, @calls[index]) while (index += 1) < @calls.size
        @region.conclude_all(@last) unless @last.zero?
        check_stored
        @answers
      end

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
        activation = @region.resident!(call[0])
        answer = activation.run(task, @region.check_name(call[1]), call.size > 2 ? call.drop(2) : NO_ARGUMENTS)
        batch = activation.batch
        note(index, activation.state, batch) if batch > @commits.settled
        @answers[index] = answer
      rescue Cancelled, ClientGone
        raise
      rescue StandardError => e
        raise if Elah.deadline&.zero?

        @answers[index] = e
      end

      def note(index, state, batch)
        @states[index] = state
        @batches[index] = batch
        @last = batch if batch > @last
      end

      def check_stored
        return unless @region.durable?

        @states.each_index { |index| @answers[index] = failure(index) || @answers[index] if @states[index] }
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

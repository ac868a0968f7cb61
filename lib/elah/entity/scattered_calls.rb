# frozen_string_literal: true

module Elah
  class Entity
    # Many calls on their way to the workers that own the entities, all in one message per worker, under one deadline. What {Elah::Gather} does
    # for calls of any kind, without an object for each.
    class ScatteredCalls
      # @param region [Region] of the entities
      # @param calls [Array<Array>, CallColumns] each a key, the name of a method, and its arguments
      # @param ways [Hash{Carrier=>Array<Integer>}] the indexes of the calls that each carrier takes
      # @param seconds [Numeric, nil] for all of them
      def initialize(region, calls, ways, seconds)
        @region = region
        @calls = calls
        @ways = ways
        @seconds = seconds
        @due = seconds && Concurrency.now + seconds
        @scattered = []
        @answers = Array.new(calls.size)
        @is_failed = false
      end

      # Sends all, those to other workers first, and waits until they have ended or the time is over.
      #
      # @return [Array] for each call its answer, or the exception with which it ended
      def run
        @ways.partition { |carrier, _| carrier.away? }.each { |ways| ways.each { |carrier, indexes| start(carrier, indexes) } }
        @scattered.each { |scattered, _| scattered.wait(seconds_left) }
        @scattered.each { |scattered, indexes| collect(scattered, indexes) }
        @answers
      ensure
        @scattered.each { |scattered, _| scattered.cancel }
      end

      # @return [Boolean] whether a call has ended without an answer
      def failed? = @is_failed

      private

      def start(carrier, indexes)
        @scattered << [carrier.scatter_calls(indexes.size == @calls.size ? @calls : @calls.values_at(*indexes), seconds_left), indexes]
      rescue Cancelled, ClientGone
        raise
      rescue NotSerializable
        sendable = indexes.reject { |index| refuse(index) }
        start(carrier, sendable) if sendable.any?
      rescue StandardError => e
        @is_failed = true
        indexes.each { |index| @answers[index] = e }
      end

      # @return [Boolean] whether a call cannot be sent, which is its answer then
      def refuse(index)
        _, name, *arguments = @calls[index]
        @region.check_arguments(name, arguments)
        false
      rescue NotSerializable => e
        @is_failed = true
        @answers[index] = e
        true
      end

      def collect(scattered, indexes)
        answers = scattered.answers
        return Shards.place_answers(@answers, indexes, answers) if answers

        indexes.each_with_index do |index, place|
          outcome, answer, error = scattered.outcome(place)
          next @answers[index] = answer if outcome == :answered

          @is_failed = true
          @answers[index] = error || late
        end
      end

      def seconds_left = @due && [@due - Concurrency.now, 0.0].max

      def late = DeadlineExceeded.new("There was no answer within #{@seconds} s.")
    end
  end
end

# frozen_string_literal: true

module Elah
  class Entity
    # Many calls on their way to the owners of their entities, in one message per worker, under one deadline. It does the work of {Elah::Gather}
    # without an object for each call.
    class ScatteredCalls
      # @param collection [Collection] of the entities
      # @param calls [Array<Array>] each a key, the name of a method, and its arguments
      # @param ways [Hash{Route=>Array<Integer>}] the indexes of the calls of each route
      # @param seconds [Numeric, nil] for all of them
      def initialize(collection, calls, ways, seconds)
        @collection = collection
        @calls = calls
        @ways = ways
        @seconds = seconds
        @due = seconds && Concurrency.now + seconds
        @scattered = []
        @replies = Array.new(calls.size)
        @is_failed = false
      end

      # Sends all calls, first those to other workers, and waits until they have ended or the time is over.
      #
      # @return [Array] the result of each call, or the exception that ended it
      def run
        @ways.partition { |route, _| route.remote? }.each { |ways| ways.each { |route, indexes| start(route, indexes) } }
        @scattered.each { |scattered, _| scattered.wait(seconds_left) }
        @scattered.each { |scattered, indexes| collect(scattered, indexes) }
        @replies
      ensure
        @scattered.each { |scattered, _| scattered.cancel }
      end

      # @return [Boolean] whether a call has ended without a result
      def failed? = @is_failed

      private

      def start(route, indexes)
        @scattered << [route.scatter_in_order(indexes.size == @calls.size ? @calls : @calls.values_at(*indexes), seconds_left), indexes]
      rescue Cancelled, ClientGone
        raise
      rescue NotSerializable
        sendable = indexes.reject { |index| refuse(index) }
        start(route, sendable) if sendable.any?
      rescue StandardError => e
        @is_failed = true
        indexes.each { |index| @replies[index] = e }
      end

      # @return [Boolean] whether a call cannot be sent; the error is its outcome
      def refuse(index)
        _, name, *arguments = @calls[index]
        @collection.check_arguments(name, arguments)
        false
      rescue NotSerializable => e
        @is_failed = true
        @replies[index] = e
        true
      end

      def collect(scattered, indexes)
        replies = scattered.replies
        return Shards.place_replies(@replies, indexes, replies) if replies

        indexes.each_with_index do |index, place|
          outcome, reply, error = scattered.outcome(place)
          next @replies[index] = reply if outcome == :returned

          @is_failed = true
          @replies[index] = error || late
        end
      end

      def seconds_left = @due && [@due - Concurrency.now, 0.0].max

      def late = DeadlineExceeded.new("There was no result within #{@seconds} s.")
    end
  end
end

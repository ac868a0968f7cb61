# frozen_string_literal: true

module Elah
  class Entity
    # The route of many calls to one worker; {Elah::Gather} describes its contract.
    class Route
      # Route to entities of this worker: their calls run in order in one fiber, and wait for the disk once.
      class Local < Route
        # @param collection [Collection]
        def initialize(collection)
          super()
          @collection = collection
        end

        # @return [Boolean] whether it leads to another worker
        def remote? = false

        # @param calls [Array<Array>] each a key, the name of a method, and its arguments
        # @param _seconds [Numeric, nil]
        # @return [LocalCalls]
        def scatter_calls(calls, _seconds)
          many = ManyCalls.new(@collection, calls)
          LocalCalls.new(many, Elah.async { many.run(Elah.current_loop.current_task) })
        end
      end

      # Route to entities of another worker, in one message.
      class Remote < Route
        Message = Struct.new(:message)
        private_constant :Message

        # @param peer [Elah::PeerLinks::Peer]
        # @param collection [Collection]
        def initialize(peer, collection)
          super()
          @peer = peer
          @collection = collection
        end

        # @return [Boolean] whether it leads to another worker
        def remote? = true

        # @param calls [Array<Array>] each a key, the name of a method, and its arguments
        # @param seconds [Numeric, nil]
        # @return [RemoteCalls]
        def scatter_calls(calls, seconds)
          RemoteCalls.new(@peer.scatter([Message.new(@collection.message_of_many(calls))], seconds), @peer.address)
        rescue TypeError
          calls.each { |_, name, *arguments| @collection.check_arguments(name, arguments) }
          raise
        end
      end

      # The calls scattered to this worker.
      class LocalCalls
        # @param calls [ManyCalls]
        # @param async [Elah::Async] that runs them
        def initialize(calls, async)
          @calls = calls
          @async = async
        end

        # @param seconds [Numeric, nil]
        def wait(seconds) = @async.wait(seconds)

        # @param index [Integer]
        # @return [Array] outcome, result and error
        def outcome(index)
          @async.error ? [:failed, nil, @async.error] : @calls.outcome(index)
        end

        # @return [Array, nil] the results of all calls; nil unless each has one
        def replies = (@calls.replies unless @async.error || !@async.done?)

        # Cancels the calls that have not run.
        def cancel = @async.cancel
      end

      # The calls scattered to another worker.
      class RemoteCalls
        # @param scattered [#wait, #outcome, #cancel]
        # @param address [String] of the other worker
        def initialize(scattered, address)
          @scattered = scattered
          @address = address
          @outcome = nil
          @is_plain = false
        end

        # @param seconds [Numeric, nil]
        def wait(seconds) = @scattered.wait(seconds)

        # @param index [Integer]
        # @return [Array] outcome, result and error
        def outcome(index)
          outcome, replies, error = outcome_of_all
          return [outcome, nil, error] unless outcome == :returned

          reply = replies[index]
          Route.outcome_of(reply.is_a?(PeerLinks::Failure) ? reply.to_exception(@address) : reply)
        end

        # @return [Array, nil] the results of all calls; nil unless each has one
        def replies
          outcome, replies, = outcome_of_all
          replies if outcome == :returned && @is_plain
        end

        # Cancels the calls without a result.
        def cancel = @scattered.cancel

        private

        # Results that are all texts arrive as one String.
        def outcome_of_all
          return @outcome if @outcome

          outcome, replies, error = @scattered.outcome(0)
          @is_plain = replies.is_a?(String)
          @outcome = [outcome, @is_plain ? Shards.unpack_replies(replies) : replies, error]
        end
      end

      # Deferred calls that were scattered. Those that meet a change of owner are made again afterwards, one after the other.
      class DeferredCalls
        # @param calls [Array<DeferredCall>]
        # @param scattered [#wait, #outcome, #cancel]
        def initialize(calls, scattered)
          @calls = calls
          @scattered = scattered
          @outcomes = {}
        end

        # @param seconds [Numeric, nil]
        def wait(seconds)
          give_up_at = seconds && (Concurrency.now + seconds)
          @scattered.wait(seconds)
          moved = @scattered.replies ? [] : @calls.each_index.select { |index| moved?(index) }
          return if moved.empty?

          moved.each { |index| @outcomes[index] = [:late, nil, nil] }
          @async = Elah.async { moved.each { |index| @outcomes[index] = outcome_of(@calls[index]) } }
          @async.wait(give_up_at && [give_up_at - Concurrency.now, 0].max)
        rescue Overloaded => e
          moved.each { |index| @outcomes[index] = [:failed, nil, e] }
        end

        # @param index [Integer]
        # @return [Array] outcome, result and error
        def outcome(index) = @outcomes[index] || @scattered.outcome(index)

        # Cancels the calls without a result.
        def cancel
          @scattered.cancel
          @async&.cancel
        end

        private

        def moved?(index)
          outcome, _, error = @scattered.outcome(index)
          outcome == :failed && (error.is_a?(Moved) || error.is_a?(Store::Fenced))
        end

        def outcome_of(call)
          [:returned, call.call, nil]
        rescue Cancelled, ClientGone
          raise
        rescue StandardError => e
          [:failed, nil, e]
        end
      end

      # @param deferred_calls [Array<DeferredCall>]
      # @param seconds [Numeric, nil]
      # @return [DeferredCalls]
      def scatter(deferred_calls, seconds)
        DeferredCalls.new(deferred_calls, scatter_calls(deferred_calls.map { |call| [call.key, call.name, *call.arguments] }, seconds))
      end

      # @param reply [Object, Exception] the reply
      # @return [Array] outcome, result and error
      def self.outcome_of(reply) = reply.is_a?(Exception) ? [:failed, nil, reply] : [:returned, reply, nil]
    end
  end
end

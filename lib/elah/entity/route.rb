# frozen_string_literal: true

module Elah
  class Entity
    # The route of many calls to one worker; {Elah::Gather} describes its contract.
    class Route
      # Route to entities of this worker.
      class Local < Route
        # @param collection [Collection]
        def initialize(collection)
          super()
          @collection = collection
        end

        # @return [Boolean] whether it leads to another worker
        def remote? = false

        # One fiber makes the calls in order.
        #
        # @param calls [Array<Array>] each a key, the name of a method, and its arguments
        # @param _seconds [Numeric, nil]
        # @return [LocalCalls]
        def scatter_in_order(calls, _seconds)
          many = ManyCalls.new(@collection, calls)
          LocalCalls.new(many, [start(many)])
        end

        # When a call waits, another fiber makes those behind it. Without one, the call's own fiber makes them afterwards.
        #
        # @param (see #scatter_in_order)
        # @return [LocalCalls]
        def scatter_calls(calls, _seconds)
          many = ManyCalls.new(@collection, calls)
          fibers = []
          begin
            fibers << start(many) while many.more?
          rescue Overloaded
            raise if fibers.empty?
          end
          LocalCalls.new(many, fibers)
        end

        private

        def start(many) = Elah.async { many.run(Elah.current_loop.current_task) }.noticed
      end

      # Route to entities of another worker, in one message.
      class Remote < Route
        # @param peer [Elah::PeerLinks::Peer]
        # @param collection [Collection]
        def initialize(peer, collection)
          super()
          @peer = peer
          @collection = collection
        end

        # @return [Boolean] whether it leads to another worker
        def remote? = true

        # One fiber of the other worker makes the calls in order, and their results come together.
        #
        # @param calls [Array<Array>] each a key, the name of a method, and its arguments
        # @param seconds [Numeric, nil]
        # @return [RemoteCalls]
        def scatter_in_order(calls, seconds)
          RemoteCalls.new(send_out(calls, [@collection.message_of_many(calls)], seconds), @peer.address)
        end

        # A call that waits holds up no other, and one that cannot be copied fails alone.
        #
        # @param (see #scatter_in_order)
        # @return [PeerLinks::Scattered, SentInPart]
        def scatter_calls(calls, seconds)
          send_out(calls, @collection.messages_of(calls), seconds)
        rescue NotSerializable
          refusals = calls.map { |call| refusal(call) }
          sent = calls.reject.with_index { |_, index| refusals[index] }
          raise if sent.empty? || sent.size == calls.size

          SentInPart.new(send_out(sent, @collection.messages_of(sent), seconds), refusals)
        end

        private

        def refusal((_, name, *arguments))
          @collection.check_arguments(name, arguments)
          nil
        rescue NotSerializable => e
          e
        end

        def send_out(calls, messages, seconds)
          @peer.scatter_messages(messages, seconds)
        rescue TypeError
          calls.each { |_, name, *arguments| @collection.check_arguments(name, arguments) }
          raise
        end
      end

      # Calls to another worker, some of which could not be sent.
      class SentInPart
        # @param scattered [#wait, #outcome, #cancel] those that were sent
        # @param refusals [Array<NotSerializable, nil>] of all calls; nil for those that were sent
        def initialize(scattered, refusals)
          @scattered = scattered
          @refusals = refusals
          @places = refusals.each_index.reject { |index| refusals[index] }.each_with_index.to_h
        end

        # @param seconds [Numeric, nil]
        def wait(seconds) = @scattered.wait(seconds)

        # @param index [Integer]
        # @return [Array] outcome, result and error
        def outcome(index)
          error = @refusals[index]
          error ? [:failed, nil, error] : @scattered.outcome(@places[index])
        end

        # Cancels the calls without a result.
        def cancel = @scattered.cancel
      end

      # The calls scattered to this worker.
      class LocalCalls
        # @param calls [ManyCalls]
        # @param fibers [Array<Elah::Async>] that run them
        def initialize(calls, fibers)
          @calls = calls
          @fibers = fibers
        end

        # @param seconds [Numeric, nil]
        def wait(seconds)
          due = seconds && (Concurrency.now + seconds)
          @fibers.each do |fiber|
            left = due && (due - Concurrency.now)
            fiber.wait(left) if left.nil? || left.positive?
          end
        end

        # @param index [Integer]
        # @return [Array] outcome, result and error
        def outcome(index)
          outcome = @calls.outcome(index)
          error = error_of_fibers if outcome[0] == :late
          error ? [:failed, nil, error] : outcome
        end

        # @return [Array, nil] the results of all calls; nil unless each has one
        def replies = (@calls.replies if @fibers.all?(&:done?) && error_of_fibers.nil?)

        # Cancels the calls that have not run.
        def cancel = @fibers.each(&:cancel)

        private

        def error_of_fibers = @fibers.filter_map(&:error).first
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
        end

        # @param seconds [Numeric, nil]
        def wait(seconds)
          give_up_at = seconds && (Concurrency.now + seconds)
          @scattered.wait(seconds)
          @outcomes = @calls.each_index.map { |index| @scattered.outcome(index) }
          moved = @calls.each_index.select { |index| moved?(*@outcomes[index]) }
          return if moved.empty?

          moved.each { |index| @outcomes[index] = [:late, nil, nil] }
          @async = Elah.async { moved.each { |index| @outcomes[index] = outcome_of(@calls[index]) } }
          @async.wait(give_up_at && [give_up_at - Concurrency.now, 0].max)
        rescue Overloaded => e
          moved.each { |index| @outcomes[index] = [:failed, nil, e] }
        end

        # @param index [Integer]
        # @return [Array] outcome, result and error
        def outcome(index) = @outcomes[index]

        # Cancels the calls without a result.
        def cancel
          @scattered.cancel
          @async&.cancel
        end

        private

        def moved?(outcome, _, error) = outcome == :failed && Collection::Routing.moved?(error)

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

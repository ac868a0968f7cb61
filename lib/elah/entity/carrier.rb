# frozen_string_literal: true

module Elah
  class Entity
    # The way of many calls at once to one worker; see {Elah::Gather} for what it has to do.
    class Carrier
      # To the entities that live here: their calls run one after the other in one fiber, and wait for the disk once.
      class Here < Carrier
        # @param region [Region]
        def initialize(region)
          super()
          @region = region
        end

        # @return [Boolean] whether it leads to another worker
        def away? = false

        # @param calls [Array<Array>, CallColumns] each a key, the name of a method, and its arguments
        # @param _seconds [Numeric, nil]
        # @return [Local]
        def scatter_calls(calls, _seconds)
          many = ManyCalls.new(@region, calls)
          Local.new(many, Elah.async { many.run(Elah.current_loop.current_task) })
        end
      end

      # To the entities of another worker, in one message.
      class Away < Carrier
        Message = Struct.new(:message)
        private_constant :Message

        # @param peer [Elah::PeerLinks::Peer]
        # @param region [Region]
        def initialize(peer, region)
          super()
          @peer = peer
          @region = region
        end

        # @return [Boolean] whether it leads to another worker
        def away? = true

        # @param calls [Array<Array>, CallColumns] each a key, the name of a method, and its arguments
        # @param seconds [Numeric, nil]
        # @return [Remote]
        def scatter_calls(calls, seconds)
          Remote.new(@peer.scatter([Message.new(@region.message_of_many(calls))], seconds), @peer.path)
        rescue TypeError
          calls.to_a.each { |_, name, *arguments| @region.check_arguments(name, arguments) }
          raise
        end
      end

      # What was scattered to this worker.
      class Local
        # @param calls [ManyCalls]
        # @param async [Elah::Async] that runs them
        def initialize(calls, async)
          @calls = calls
          @async = async
        end

        # @param seconds [Numeric, nil]
        def wait(seconds) = @async.wait(seconds)

        # @param index [Integer]
        # @return [Array] outcome, answer and error
        def outcome(index)
          @async.error ? [:failed, nil, @async.error] : @calls.outcome(index)
        end

        # @return [Array, nil] the answers to all calls; nil unless each has one
        def answers = (@calls.answers unless @async.error || !@async.done?)

        # Ends the calls that have not run.
        def cancel = @async.cancel
      end

      # What was scattered to another worker.
      class Remote
        # @param scattered [#wait, #outcome, #cancel]
        # @param path [String]
        def initialize(scattered, path)
          @scattered = scattered
          @path = path
          @outcome = nil
          @is_plain = false
        end

        # @param seconds [Numeric, nil]
        def wait(seconds) = @scattered.wait(seconds)

        # @param index [Integer]
        # @return [Array] outcome, answer and error
        def outcome(index)
          outcome, answers, error = outcome_of_all
          return [outcome, nil, error] unless outcome == :answered

          answer = answers[index]
          Carrier.outcome_of(answer.is_a?(PeerLinks::Failure) ? answer.to_exception(@path) : answer)
        end

        # @return [Array, nil] the answers to all calls; nil unless each has one
        def answers
          outcome, answers, = outcome_of_all
          answers if outcome == :answered && @is_plain
        end

        # Gives up what has no answer yet.
        def cancel = @scattered.cancel

        private

        # Answers that are nothing but texts come as one.
        def outcome_of_all
          return @outcome if @outcome

          outcome, answers, error = @scattered.outcome(0)
          @is_plain = answers.is_a?(String)
          @outcome = [outcome, @is_plain ? Shards.unpack_answers(answers) : answers, error]
        end
      end

      # @param deferred_calls [Array<DeferredCall>]
      # @param seconds [Numeric, nil]
      # @return [#wait, #outcome, #cancel]
      def scatter(deferred_calls, seconds) = scatter_calls(deferred_calls.map { |call| [call.key, call.name, *call.arguments] }, seconds)

      # @param answer [Object, Exception]
      # @return [Array] outcome, answer and error
      def self.outcome_of(answer) = answer.is_a?(Exception) ? [:failed, nil, answer] : [:answered, answer, nil]
    end
  end
end

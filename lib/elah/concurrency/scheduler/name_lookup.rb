# frozen_string_literal: true

require_relative "../async"
require_relative "../offload"

module Elah
  class Scheduler
    # The look-up of a host name, for all fibers of a loop that wait for it. It goes on when they are cancelled: getaddrinfo cannot be interrupted.
    class NameLookup < Async
      # Maximum number of names that wait to be resolved.
      QUEUE_MAX = 16_384

      # Names are resolved in separate threads, so that a slow name server delays no other work. A name whose server is silent occupies its thread
      # for 10 s or more.
      RESOLVERS = Offload::Pool.new(threads: 64, queue_max: QUEUE_MAX, name: "elah resolver")
      private_constant :RESOLVERS

      # @param event_loop [Elah::EventLoop]
      # @param running [Hash{String=>NameLookup}] has it until it has ended
      # @param name [String]
      # @yieldreturn [Array<String>] addresses; the block runs in a thread
      def initialize(event_loop, running, name, &block)
        running[name] = self
        super(event_loop, parent: nil, task: Task.transient, finished: -> { running.delete(name) }) do
          @addresses = RESOLVERS.call(&block)
        rescue StandardError => e # -- for those who wait, if anybody does
          @refusal = e
        end
      rescue Overloaded
        running.delete(name)
        raise
      end

      # Waits until the name is resolved.
      #
      # @return [Array<String>]
      # @raise [SocketError]
      # @raise [Elah::Overloaded] when {QUEUE_MAX} other names wait already
      def addresses
        value
        @refusal ? raise(@refusal) : @addresses
      end
    end
  end
end

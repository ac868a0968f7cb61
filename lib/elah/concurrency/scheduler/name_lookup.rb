# frozen_string_literal: true

module Elah
  class Scheduler
    # The look-up of a host name, for all fibers of a loop that wait for it. Once it has begun it goes on when they are cancelled: getaddrinfo cannot
    # be interrupted.
    class NameLookup < Async
      # Maximum number of names that wait to be resolved.
      QUEUE_MAX = 16_384

      # Names are resolved in separate threads, so that a slow name server delays no other work. A name whose server is silent occupies its thread
      # for 10 s or more.
      NEW_NAMES = Offload::Pool.new(threads: 64, queue_max: QUEUE_MAX, name: "elah resolver")

      # Resolves names that were resolved before, such as that of the database: however many others are silent, these do not wait.
      KNOWN_NAMES = Offload::Pool.new(threads: 64, queue_max: QUEUE_MAX, name: "elah resolver")

      # Names whose last look-up succeeded, the latest at the end.
      @known = {}

      # Number of names that are known as resolved.
      KNOWN_MAX = 4_096
      private_constant :NEW_NAMES, :KNOWN_NAMES, :KNOWN_MAX

      # @param name [String]
      # @yieldreturn [T]
      # @return [T] the block's value; the block runs in a thread
      # @raise [Elah::Overloaded] when {QUEUE_MAX} other names wait already
      # @api private
      def self.resolve(name, &block)
        addresses = (@known.delete(name) ? KNOWN_NAMES : NEW_NAMES).call(&block)
        @known[name] = true
        @known.shift if @known.size > KNOWN_MAX
        addresses
      end

      # @param event_loop [Elah::EventLoop]
      # @param running [Hash{String=>NameLookup}] has it until it has ended
      # @param name [String]
      # @yieldreturn [Array<String>] addresses; the block runs in a thread
      def initialize(event_loop, running, name, &block)
        @running = running
        @name = name
        running[name] = self
        super(event_loop, parent: nil, task: Task.service, finished: method(:leave)) { resolve(&block) }
      rescue Overloaded
        leave
        raise
      end

      # Waits until the name is resolved.
      #
      # @return [Array<String>]
      # @raise [SocketError]
      # @raise [Elah::Overloaded] see {.resolve}
      def addresses
        value
        @refusal ? raise(@refusal) : @addresses
      ensure
        drop if @waiters.empty? && !@has_begun
      end

      private

      def resolve
        @addresses = self.class.resolve(@name) do
          @has_begun = true
          yield
        end
      rescue StandardError => e # -- for those who wait, if anybody does
        @refusal = e
      end

      def drop
        leave
        cancel
      end

      def leave
        @running.delete(@name) if @running[@name].equal?(self)
      end
    end
  end
end

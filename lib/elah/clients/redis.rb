# frozen_string_literal: true

# The Ruby half of the Redis client: defaults, keywords and documentation. The other half is native (ext/elah/src/clients/redis.rs).
require_relative "../native"
require_relative "client_bounds"
raise Elah::ClientMissing, "Elah::Redis" unless defined?(Elah::Clients::Redis)

require_relative "redis/errors"
require_relative "redis/commands"
require_relative "redis/batch"
require_relative "redis/script"
require_relative "redis/subscription"

module Elah
  # A client of Redis, or of a Redis Cluster. All fibers of a worker share one connection. Commands sent at the same moment leave in one write, and
  # only the calling fibers wait. The first command opens the connection, so a client may be created before workers are forked; the next command
  # reopens a lost one. Threads outside a worker share a connection too.
  #
  # @example
  #   redis = Elah::Redis.new("redis://127.0.0.1:6379/0")
  #   redis.set("greeting", "hello", ex: 60)
  #   redis.get("greeting")                          # => "hello"
  #   redis.call("OBJECT", "ENCODING", "greeting")   # => "embstr"
  class Redis < Clients::Redis
    include Commands

    # Names and defaults.
    OPTIONS = { connect_seconds: 2.0, command_seconds: 5.0, in_flight_max: 16_384, messages_max: 1024, ca_file: nil, cluster: nil }.freeze

    # Time for which the end of a process waits for posted commands.
    EXIT_SECONDS = 5
    private_constant :EXIT_SECONDS

    at_exit { finish }

    class << self
      # Waits, at the end of a process or of its image, for what was posted outside a loop: a loop waits for its own.
      #
      # @api private
      def finish = Concurrency.poll(EXIT_SECONDS) { posted_in_background.zero? }

      # @param url [String] `redis://USER:PASSWORD@HOST:PORT/DATABASE`; `rediss://` with TLS, `redis+cluster://` or
      #   `rediss+cluster://` with one node of a cluster, `redis+unix:///PATH`
      # @param options [Hash{Symbol=>Object}]
      # @option options [Numeric] :connect_seconds (2.0) to open a connection
      # @option options [Numeric] :command_seconds (5.0) for a reply
      # @option options [Integer] :in_flight_max (16384) commands of a worker that may wait for a reply
      # @option options [Integer] :messages_max (1024) messages that a subscription holds unread
      # @option options [String, nil] :ca_file PEM file of the authorities to trust in place of the usual ones
      # @option options [Boolean, nil] :cluster as the scheme
      # @return [Redis] without a connection yet
      # @raise [Elah::OptionError] when the URL or an option is wrong
      def new(url, **options)
        options.each { |name, value| check(name, value) }
        settings = OPTIONS.merge(options)
        url = url.sub(%r{\A\s*(rediss?|redis\+unix)://}i, '\1+cluster://') if settings[:cluster]
        seconds = settings.slice(:connect_seconds, :command_seconds).transform_values(&:to_f)
        open(url, settings[:ca_file]&.to_s, seconds.merge(settings.slice(:in_flight_max, :messages_max)))
      end

      private :open, :posted_in_background

      private

      def check(name, value)
        OPTIONS.key?(name) or raise OptionError, "Elah::Redis has no option #{name}; there are #{OPTIONS.keys.join(', ')}."
        case name
        when :cluster then [true, false, nil].include?(value) or refuse(name, "true or false", value)
        when :ca_file then value.nil? || value.is_a?(String) || value.respond_to?(:to_path) or refuse(name, "the path of a file", value)
        else ClientBounds.check(self, name, value)
        end
      end

      def refuse(name, expected, value)
        raise OptionError, "Elah::Redis: #{name} must be #{expected}, not #{value.inspect}."
      end
    end

    # @!method call(*words)
    #   Runs one command.
    #   @param words [Array<String, Symbol, Numeric, Array, Hash>] name and arguments; Arrays and Hashes are expanded to their contents
    #   @return [String, Integer, Float, Boolean, Array, Hash, nil] Strings are binary
    #   @raise [Redis::Error] when the server refuses it
    #   @raise [Elah::Unavailable] when the server cannot be reached, is lost, or refuses everything for now
    #   @raise [Elah::QueryTimeout] when there is no reply within `command_seconds`
    #   @raise [Elah::PoolExhausted] when `in_flight_max` commands wait already
    #   @raise [ArgumentError] for a command that would affect other users of the connection, such as BLPOP or SELECT

    # @!method post(*words)
    #   Sends one command without waiting for its reply. It leaves with other commands of this moment, before later ones.
    #   @param words [Array<String, Symbol, Numeric, Array, Hash>] as for {#call}
    #   @return [true]
    #   @raise [Elah::Error] the error of an earlier post; this command was not sent

    # @!method server
    #   @return [String] host and port

    # @!method cluster?
    #   @return [Boolean]

    # @!method close
    #   Closes the connections; commands that wait raise {Closed}, as further calls do. A subscription is closed by itself.
    #   @return [nil]

    # @!method closed?
    #   @return [Boolean]

    # Sends the commands of the block together and waits for all replies.
    #
    # @param exception [Boolean] whether the first refusal is raised; otherwise it is an exception among the replies
    # @yieldparam batch [Batch] with the methods of the client
    # @return [Array] the replies
    def pipelined(exception: true, &block) = run_batch(false, exception, &block)

    # Sends the commands of the block as a transaction (`MULTI`): all of them run with no other command in between. In a cluster
    # their keys must be of one slot.
    #
    # @param exception [Boolean] as for {#pipelined}
    # @yieldparam batch [Batch] with the methods of the client
    # @return [Array] the replies
    # @raise [Redis::Error] when a command is invalid; no command was run
    def multi(exception: true, &block) = run_batch(true, exception, &block)

    # @param source [String] Lua
    # @return [Script]
    def script(source) = Script.new(self, source)

    # Subscribes to channels; returns when the server has confirmed them.
    #
    # @overload subscribe(*channels, patterns: [], &block)
    #   @param channels [Array<String>]
    #   @param patterns [Array<String>] as `news.*`
    #   @yieldparam message [Message] until the block is left by `break`, which ends the subscription
    #   @return [void]
    # @overload subscribe(*channels, patterns: [])
    #   @param channels [Array<String>]
    #   @param patterns [Array<String>]
    #   @return [Subscription]
    # @raise [Elah::Unavailable] when the server cannot be reached
    def subscribe(*channels, patterns: [], &block)
      raise ArgumentError, "a subscription needs at least one channel or pattern" if channels.empty? && patterns.empty?

      subscription = Subscription.new { subscribe_native(channels.flatten, Array(patterns)) }
      return subscription unless block

      begin
        subscription.each(&block)
      ensure
        subscription.close
      end
    end

    # @return [String] without the password
    def inspect = "#<#{self.class} #{server}#{' (cluster)' if cluster?}>"

    private :run_all, :subscribe_native

    private

    def run_batch(is_transaction, exception)
      yield batch = Batch.new
      return [] if batch.commands.empty?

      replies = run_all(batch.commands, is_transaction)
      exception ? replies.each { |reply| raise reply if reply.is_a?(Exception) } : replies
    end
  end
end

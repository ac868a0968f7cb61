# frozen_string_literal: true

require_relative "../concurrency/event_loop"
require_relative "route"
require_relative "chain"
require_relative "claims"
require_relative "commits"
require_relative "deferred_call"
require_relative "many_calls"
require_relative "collection/inbound_calls"
require_relative "collection/registry"
require_relative "collection/release"
require_relative "collection/routing"
require_relative "collection/tables"
require_relative "residents"
require_relative "scattered_calls"

module Elah
  class Entity
    # The entities of one class in one store, as this process sees them: those in its memory, and routes to the others.
    class Collection
      extend Registry
      include InboundCalls
      include Release
      include Routing
      include Tables

      # Maximum length of an entity's key, in bytes.
      KEY_BYTES_MAX = 255

      # @return [Class]
      attr_reader :entity_class

      # @return [String]
      attr_reader :name

      # @return [Integer] number of these entities in messages between workers
      # @api private
      attr_reader :number

      # @return [Integer] maximum number of calls that wait for one entity
      # @api private
      attr_reader :queue_max

      # @return [Elah::Store]
      # @api private
      attr_reader :store

      # @return [Timers, nil] nil unless the class has timers
      # @api private
      attr_reader :timers

      # @return [Integer] maximum number of results of {Reference#once} that one entity stores
      # @api private
      attr_reader :once_max

      # @api private
      # @return [Class] class of references to these entities
      attr_reader :references

      # @return [Elah::EventLoop, nil] the loop in which entities run
      # @api private
      attr_reader :event_loop

      # @return [Commits]
      # @api private
      attr_reader :commits

      # @param entity_class [Class]
      # @param store [Elah::Store]
      # @api private
      def initialize(entity_class, store)
        @entity_class = entity_class
        @name = entity_class.entity_name
        @number = Collection.number_of(store, @name)
        @store = store
        @is_durable = entity_class.durability == :disk
        @entities_max = Elah.config.entities_max
        @queue_max = Elah.config.entity_queue_max
        @once_max = Elah.config.entity_once_max
        @moving_seconds = Elah.config.entity_moving_seconds
        @request_seconds = Elah.config.request_seconds
        @calls = CallableMethods.of(entity_class).to_h { |call| [call, call] }
        @references = Reference.for(@calls.keys)
        @deferred = Reference.for(@calls.keys, :defer)
        @once = Reference.for(@calls.keys)
        @calls[Once::NAME] = :__once__
        reset
      end

      # @param key [String, #to_s] 1 to 255 bytes
      # @return [Reference]
      def [](key) = @references.new(self, key.is_a?(String) ? key : key.to_s)

      # Calls an entity in whichever worker owns it.
      #
      # @param key [String]
      # @param name [Symbol]
      # @param arguments [Array]
      # @return [Object] the method's value
      # @raise [NoMethodError] unless the name is that of a public method of the class
      # @raise [Overloaded] when too many calls wait for the entity
      # @raise [Reentrant] when the entity waits for this call
      # @raise [Store::Error] when the writes could not be stored
      # @raise [Moving] when no worker owned it for `entity_moving_seconds`
      # @raise [PeerUnavailable, PeerLimited, DeadlineExceeded] when its owner does not reply
      def call(key, name, arguments)
        method_name = method_named(name)
        task = current_task
        follow if @version != @placement.version
        activation = @here[key]
        activation ? run_here(task, activation, method_name, arguments) : call_owner(task, key, name, arguments)
      rescue Moved, Store::Fenced
        call_owner(task, key, name, arguments)
      end

      # Makes many calls. Calls of one worker run in order and wait for the disk once. Calls that meet a change of owner are retried after all
      # others.
      #
      # @param calls [Array<Array>] each a key, the name of a method, and its arguments
      # @param deadline [Numeric, nil] seconds after which calls without a result end with DeadlineExceeded
      # @return [Array] the result of each call, or the exception that ended it
      def call_many(calls, deadline: nil)
        task = current_task
        follow if @version != @placement.version
        return scatter(calls, deadline && (Concurrency.now + deadline)) unless deadline.nil? && alone?

        many = ManyCalls.new(self, calls)
        replies = many.run(task)
        many.failed? ? repeat_moved(calls, replies) : replies
      end

      # Runs calls in this worker.
      #
      # @api private
      def run_many(calls)
        task = current_task
        follow if @version != @placement.version
        ManyCalls.new(self, calls).run(task)
      end

      # @api private
      # Fires timers, and takes part in the cluster of the store, in the loop of the calling fiber.
      def start = current_task

      # @api private
      # Calls an entity that this worker owns.
      #
      # @raise [Moved] when another worker owns it
      def call_here(key, name, *arguments) = run_here(current_task, resident!(key), name, arguments)

      # @api private
      # @return [Hash{String=>Activation}] the entities in memory, by key; read only
      def activations = @here

      # @api private
      # Waits as the durability requires, and for the disk if one of the entities is {Activation#cautious?}.
      def conclude_all(batch, is_cautious)
        return @commits.settle(batch) if @is_durable

        is_cautious ? @commits.settle_now(batch) : @commits.hold_back(batch)
      end

      # @api private
      # @return [Boolean] whether results wait for the disk
      def durable? = @is_durable

      # @api private
      # @return [Boolean] whether a result may be returned that waits for this batch
      def safe?(batch) = batch <= @commits.refresh

      # @api private
      # @return [Symbol] the method of the entity that a call of this name runs
      # @raise [NoMethodError] unless the name is that of a callable method
      def method_named(name)
        @calls[name] or raise NoMethodError.new("The entities #{@name} have no public method #{name.inspect}.", name)
      end

      # @api private
      # @param name [Symbol] of a method
      # @param error [Shards::NotCopied]
      # @return [NotSerializable]
      def not_serializable(name, error) = NotSerializable.new("#{@entity_class.name || @name}##{name}: #{error.message}")

      # @api private
      # @raise [NotSerializable] when an argument cannot be copied
      def check_arguments(name, arguments)
        Shards.check_arguments(arguments)
      rescue Shards::NotCopied => e
        raise not_serializable(name, e)
      end

      # @api private
      def deferred(key, calls = self) = @deferred.new(calls, key)

      # @api private
      def defer(key, name, arguments) = DeferredCall.new(self, key, name, arguments)

      # @api private
      # @return [Reference]
      def once(key, idempotency_key, ttl) = @once.new(Once::Calls.new(self, idempotency_key, ttl), key)

      # @api private
      # @raise [Moved] when this worker does not own the shard
      def open_state(shard, key) = @commits.open_state(@claims[shard], key)

      # @api private
      # @return [Integer] see {Placement}
      def term_of(shard) = @placement.term_of(shard)

      # @api private
      def new_entity(key, state)
        entity = @entity_class.new
        ATTACH.bind_call(entity, key, state, self)
        entity.restore
        entity
      end

      # @return [Boolean] whether processes of other machines share the store
      # @api private
      def clustered? = @store.clustered?

      # Waits until all acknowledged writes are on disk, in the thread if no loop runs.
      def flush = @commits.flush

      # As {#flush}, when the loop or the process ends. On a cluster it waits for one lease at most: after it others own the entities.
      # @api private
      def flush_at_end
        return flush unless clustered? && @commits.waiting?

        Elah.run { Elah.timeout(Elah.config.lease_seconds) { flush } }
      rescue DeadlineExceeded
        Log.current.error("The database of the cluster does not reply: the last changes of #{@name} may not be stored.")
      end

      # Drops all entities in memory, as for a new process.
      # @api private
      def reset
        @commits = Commits.new(@store.group_commits(table_names, @entity_class.linger_seconds, @entity_class.reads == :checked))
        @timers = Timers.new(self) if @entity_class.timers?
        @activation_class = @timers ? Timers::Activation : Activation
        @residents = Residents.new(@entities_max)
        @here = @residents.activations
        @claims = @placement = @peers = @event_loop = @thread = nil
        @version = 0
        @released = {}
        @leaving = {}
        @routes = {}
        @owners = {}
      end

      # @return [Integer] number of entities in memory in this process
      def size = @residents.size

      # @return [String]
      def inspect = "#<#{self.class} #{@name} in #{@store.dir}, #{size} in memory>"

      private

      def repeat_moved(calls, replies, give_up_at = nil)
        replies.each_with_index do |reply, index|
          replies[index] = call_again(calls[index], give_up_at) if Routing.moved?(reply)
        end
      end

      def current_task
        task = @event_loop&.current_task
        task && Thread.current.equal?(@thread) ? task : enter
      end

      # The first call in a loop, in a thread, or outside any loop.
      #
      # @return [Elah::Task]
      def enter
        refuse_during_load
        owner = EventLoop.serving_thread || @thread
        if owner&.alive? && !owner.equal?(Thread.current)
          raise OutsideLoop, "Another thread of this process calls the entities #{@name}: in a server, call them outside Elah.offload and threads."
        end

        @thread = Thread.current
        connect(Elah.current_loop) unless @placement && Elah.current_loop.equal?(@event_loop)
        @timers&.start(@event_loop) if @event_loop
        @event_loop ? @event_loop.current_task : @outside ||= Task.new
      end

      # From now on the entities run in this loop, or outside any. If no port of `cluster_listen` is free, the next call tries it again.
      def connect(event_loop)
        @peers = event_loop && Peers.open(event_loop, @store.placement)
        @commits.event_loop = @event_loop = event_loop
        event_loop&.at_end { flush_at_end }
        Gauges.show(event_loop) if event_loop
        place unless @placement
        @routes.clear
        @owners.clear
        @store.join(event_loop, @peers)
      end
    end
  end
end

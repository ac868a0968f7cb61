# frozen_string_literal: true

require_relative "chain"
require_relative "claims"

module Elah
  class Entity
    # The entities of one class in one store, as this process sees them: those that live here, and the way to the others.
    class Region
      # The longest key of an entity, in bytes.
      KEY_BYTES_MAX = 255

      # Calls to one entity while its shard changes hands.
      ATTEMPTS_MAX = 5

      # What may be on its way to the disk before a call with durability `:memory` waits for it.
      WAITING_BYTES_MAX = 16 * 1024 * 1024

      @all = {}

      class << self
        # @param entity_class [Class]
        # @param store [Elah::Store]
        # @return [Region] the one of this class and store
        # @raise [ArgumentError] when another class has that name in the store
        def of(entity_class, store)
          name = entity_class.entity_name
          region = (@all[[store.dir, name]] ||= new(entity_class, store))
          return region if region.entity_class.equal?(entity_class)

          raise ArgumentError, "The entities #{name} of #{store.dir} are those of #{region.entity_class}, not of #{entity_class}."
        end

        # Waits until what was answered in memory is on disk. Called when a loop ends, before a fork and at the end of the process.
        def flush_all = @all.each_value(&:flush)

        # Begins anew in a fork, which owns nothing of its parent's.
        def reset_all = @all.each_value(&:reset)
      end

      # @return [Class]
      attr_reader :entity_class

      # @return [String]
      attr_reader :name

      # @return [Integer] how many calls may wait for one entity
      attr_reader :queue_max

      # @return [Elah::EventLoop, nil] in which entities run
      attr_reader :event_loop

      def initialize(entity_class, store)
        @entity_class = entity_class
        @name = entity_class.entity_name
        @store = store
        @is_durable = entity_class.durability == :disk
        @activations_max = Elah.config.entities_max
        @queue_max = Elah.config.entity_queue_max
        @calls = entity_class.calls.to_h { |call| [call, true] }
        @references = Reference.for(@calls.keys)
        @deferred = Reference.for(@calls.keys, :defer)
        reset
      end

      # @param key [String, Integer] 1 to 255 bytes
      # @return [Reference]
      def [](key) = @references.new(self, key.is_a?(String) ? key : key.to_s)

      # @param name [Symbol] of an index of the class
      # @return [Elah::Store::Table] to read its rows
      def index(name) = table(Index.number(@entity_class, name))

      # Calls an entity, wherever it lives.
      #
      # @param key [String]
      # @param name [Symbol]
      # @param arguments [Array]
      # @return [Object] the method's value
      # @raise [Overloaded] when too many calls wait for the entity
      # @raise [Reentrant] when the entity waits for this very call
      # @raise [Store::Error] when the writes could not be stored
      def call(key, name, arguments)
        task = current_task
        activation = @activations[key] || activate(key)
        answer = activation.run(task, name, arguments)
        batch = activation.batch
        return answer if batch <= @settled

        conclude(activation.state, batch)
        answer
      end

      # Makes many calls with one wait for the disk. Those of one worker run one after the other, in their order.
      #
      # @param calls [Array<Array>] each a key, the name of a method, and its arguments
      # @return [Array] for each call its answer, or the exception with which it ended
      def call_many(calls)
        task = current_task
        states = []
        last = 0
        answers = calls.each_with_index.map do |(key, name, *arguments), index|
          activation = @activations[key] || activate(key)
          answer = activation.run(task, check_name(name), arguments)
          if activation.batch > @settled
            last = activation.batch if activation.batch > last
            states[index] = activation.state
          end
          answer
        rescue StandardError => e
          e
        end
        return answers if last.zero?

        settle_answers(answers, states, last)
      end

      # @!group For activations

      # @api private
      # @return [Integer] the number of the batch that has the entity's last writes, 0 for none
      def gather(state)
        batch = @commits.gather(state)
        plan(batch) if batch > @planned
        batch
      end

      # @api private
      # Waits until a batch is settled.
      def settle(batch)
        return if batch <= @settled

        @commits.wait_native(batch)
        @settled = @commits.settled
      end

      # @api private
      def open_state(shard, key) = Shards::State.open(@commits, @claims[shard], key)

      # @api private
      def new_entity(key, state)
        @entity_class.new.tap do |entity|
          entity.send(:come_to_life, key, state)
          entity.restore
        end
      end

      # @!endgroup

      # Waits until everything that was answered is on disk, in the thread if no loop runs.
      def flush
        return if @planned.zero?

        @commits.submit
        @commits.wait_native(@planned)
      end

      # Forgets everything that lives here.
      def reset
        @commits = Shards::Commits.open((0..@entity_class.indexes.size).map { |number| table(number) })
        @activations = {}
        @claims = @placement = @event_loop = @thread = nil
        @planned = @submitted = @settled = 0
      end

      # @return [Integer] how many entities are in memory here
      def size = @activations.size

      # @return [String]
      def inspect = "#<#{self.class} #{@name} in #{@store.dir}, #{size} in memory>"

      private

      def table(number)
        @store.table(number.zero? ? "entity:#{@name}" : "entity:#{@name}:#{@entity_class.indexes[number - 1]}")
      end

      def check_name(name)
        @calls.key?(name) ? name : raise(NoMethodError.new("The entities #{@name} have no public method #{name.inspect}.", name))
      end

      # Writes that gathered in this turn of the loop leave together, when it ends.
      def plan(batch)
        @planned = batch
        @event_loop ? @event_loop.post { submit } : submit
      end

      def submit
        @submitted = @planned
        @commits.submit
        @settled = @commits.settled
      end

      # An answer leaves when it is safe.
      def conclude(state, batch)
        return settle_in_memory(batch) unless @is_durable

        settle(batch)
        state.check(batch)
      end

      def settle_in_memory(batch)
        settle(batch) if @commits.waiting_bytes > WAITING_BYTES_MAX
      end

      def settle_answers(answers, states, last)
        return answers.tap { settle_in_memory(last) } unless @is_durable

        settle(last)
        states.each_with_index do |state, index|
          state&.check(last)
        rescue Store::Error => e
          answers[index] = e
        end
        answers
      end

      def current_task
        task = @event_loop&.current_task
        task && Thread.current.equal?(@thread) ? task : enter
      end

      # The first call in a loop, in a thread, or outside any loop.
      def enter
        if @thread && !@thread.equal?(Thread.current) && @thread.alive?
          raise OutsideLoop, "The entities #{@name} of this process are called by another thread already."
        end

        submit if @planned > @submitted
        @thread = Thread.current
        @event_loop = Elah.current_loop
        @event_loop&.at_end { flush }
        @placement ||= Placement.current
        @claims ||= Claims.new(@commits, @placement)
        @event_loop ? @event_loop.current_task : @outside ||= Task.new
      end

      def activate(key)
        unless key.is_a?(String) && (1..KEY_BYTES_MAX).cover?(key.bytesize)
          raise ArgumentError, "The key of an entity must be a String of 1 to #{KEY_BYTES_MAX} bytes, not #{key.inspect[0, 64]}."
        end

        shard = Shards.of(key, @placement.shards)
        make_room if @activations.size >= @activations_max
        @activations[key] = Activation.new(self, key, shard)
      end

      # Those go that were not called since they were looked at last, first those that were not looked at for longest.
      def make_room
        settled = @settled = @commits.settled
        (2 * @activations.size).times do
          key, activation = @activations.first
          @activations.delete(key)
          return if !activation.used && activation.idle?(settled)

          activation.used = false
          @activations[key] = activation
        end
        raise Overloaded, "All #{@activations.size} entities #{@name} in memory are busy: try again later."
      end
    end
  end
end

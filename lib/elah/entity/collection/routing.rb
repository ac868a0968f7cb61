# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # Finds the owner of an entity, and calls it there.
      # @api private
      module Routing
        # Interval of checks while a shard changes its owner.
        PAUSE_SECONDS = 0.005

        # @param reply [Object] of a call, or an exception
        # @return [Boolean] whether nothing of the call was stored, because its entity has another owner, or none that can be reached
        def self.moved?(reply)
          case reply
          when Moved, Store::Fenced then true
          when PeerUnavailable then !reply.may_have_run?
          else false
          end
        end

        # @api private
        # @return [Route, nil] route to the entity's owner; nil when each call has to look for its owner
        def route(key)
          current_task
          follow if @version != @placement.version
          return @routes[nil] ||= Route::Local.new(self) if @here.key?(key) || @claims.owned?(shard = shard_of(key))

          peer = other_owner(shard) or return
          @routes[peer] ||= Route::Remote.new(peer, self)
        rescue ArgumentError
          nil # the call raises it
        end

        # @api private
        # @return [Activation]
        # @raise [Moved] when another worker owns the entity
        def resident!(key)
          follow if @version != @placement.version
          @here[key] || activate(key) || raise(Moved, "#{@name}[#{Text.utf8(key)}] belongs to another worker.")
        end

        # @api private
        # @return [Integer]
        # @raise [ArgumentError] when the key is no String, or of the wrong length
        def shard_of(key)
          unless key.is_a?(String) && (1..KEY_BYTES_MAX).cover?(key.bytesize)
            raise ArgumentError, "The key of an entity must be a String of 1 to #{KEY_BYTES_MAX} bytes, not #{key.inspect[0, 64]}."
          end

          Shards.of(key, @placement.shards)
        end

        # @api private
        # @return [Boolean] whether an exception ends the calling fiber; otherwise it is the outcome of one of its calls, also a Cancelled, as of a
        #   fiber that the method has cancelled. A method may have raised another exception in its place
        # @param ended_before [Exception, nil] {Task#ended_by} before the call
        def cancels?(error, ended_before)
          ended_by = Elah.current_task&.ended_by
          error.is_a?(ClientGone) || (!ended_by.nil? && !ended_by.equal?(ended_before)) || Elah.deadline&.zero?
        end

        # Claims the shards that this worker owns, unless it has.
        #
        # @api private
        # @return [Hash{Integer=>Elah::Shards::Claim}]
        def claims_of_owned
          follow if @version != @placement.version
          (0...@placement.shards).each_with_object({}) do |shard, claims|
            claims[shard] = @claims.current(shard) if @claims.owned?(shard) && !@released.key?(shard)
          rescue Moved
            next # to another worker, meanwhile
          end
        end

        private

        # The entity, if this worker has it or may own it.
        def resident(key)
          follow if @version != @placement.version
          @here[key] || activate(key)
        end

        def activate(key)
          shard = shard_of(key)
          return unless @claims.owned?(shard)

          # Only the bytes of a key count, so the entity may be in memory under another encoding.
          key = Text.of_bytes(key)
          return activate_leaving(key, shard) if @released.key?(shard)

          known = @here[key] and return known

          activation = @activation_class.new(self, key, shard)
          @residents.add(activation, @commits.refresh) || add_when_settled(activation)
        end

        # Entities with unsettled writes cannot be evicted yet.
        def add_when_settled(activation)
          @commits.flush
          raise Moved, "#{activation.identity} is handed over." if @released.key?(activation.shard) # meanwhile

          @here[activation.key] || @residents.add(activation, @commits.settled) or
            raise Overloaded, "All #{size} entities #{@name} in memory are busy: try again later."
        end

        def place
          @placement = @store.placement
          @version = @placement.version
          @claims = Claims.new(Epochs.of(@store, @placement), @commits)
          @released.update(@placement.before_release { |terms| release(terms) })
        end

        # The scoreboard has changed: entities whose shards have another owner now are no longer looked up here. What was released may be this
        # worker's again: a new claim then ends the writes of calls that still run under the one before.
        def follow
          @version = @placement.version
          ended = @released.reject { |shard, term| term == @placement.term_of(shard) }
          ended.each_key { |shard| @released.delete(shard) }
          @leaving.delete_if { |_, activation| ended.key?(activation.shard) }
          @routes.clear
          @owners.clear
          lost = @claims.lost.merge(@claims.of(ended))
          @residents.of(lost).each { |activation| @residents.delete(activation) }
          lost.each { |shard, claim| @claims.release(shard, claim) }
        end

        def alone? = @peers.nil?

        # The worker that owns a shard; nil for this one, and if there is none. Looked up once per version of the scoreboard.
        def other_owner(shard)
          follow if @version != @placement.version
          @owners[shard] ||= (@peers&.owner(@placement.owner_of(shard)) unless @claims.owned?(shard))
        end

        # The trial run of a restart would become the owner of entities that the running workers have in memory.
        def refuse_during_load
          return unless Restart.trial? || (!Elah.autoload?(:AppFile) && AppFile.loading?)

          raise OutsideLoop, "The entities #{@name} cannot be called while the app is loaded, because a running server may own them: make first " \
                             "calls in Elah.async, in the hook before_worker_boot."
        end

        def scatter(calls, give_up_at)
          deadline = give_up_at && [give_up_at - Concurrency.now, 0].max
          ways = {}.compare_by_identity
          calls.each_with_index { |call, index| (ways[route(call[0])] ||= []) << index }
          return repeat_moved(calls, gather(calls, deadline), give_up_at) if ways.key?(nil) || Elah.current_loop.nil?

          scattered = ScatteredCalls.new(self, calls, ways, deadline)
          replies = scattered.run
          scattered.failed? ? repeat_moved(calls, replies, give_up_at) : replies
        end

        # Some calls have to look for their owners, because their entities have none at the moment.
        def gather(calls, deadline)
          results = Elah.gather(deadline: deadline) do |gather|
            calls.each_with_index { |(key, name, *arguments), index| gather.call(index, DeferredCall.new(self, key, name, arguments)) }
          end
          results.map { |result| result.returned? ? result.value : result.error }
        end

        def call_again((key, name, *arguments), give_up_at)
          ended_before = Elah.current_task&.ended_by
          return call(key, name, arguments) unless give_up_at

          Elah.timeout([give_up_at - Concurrency.now, 0.001].max) { call(key, name, arguments) }
        rescue StandardError => e
          cancels?(e, ended_before) ? raise : e
        end

        # Calls an entity at its owner, and retries while its shard changes its owner. A retry is safe, because nothing of the call was stored.
        def call_owner(task, key, name, arguments)
          shard = shard_of(key)
          give_up_at = nil
          begin
            attempt(task, shard, key, name, arguments)
          rescue Moved, Store::Fenced => e
            give_up_at ||= Concurrency.now + @moving_seconds
            raise Moving, "#{@name}[#{Text.utf8(key)}] has no owner: #{e.message}" if Concurrency.now >= give_up_at

            sleep(PAUSE_SECONDS)
            retry
          end
        end

        def not_here(shard)
          owner = @placement.owner_of(shard)
          return Moved.new("The owner of shard #{shard} has no address: set cluster_listen on its machine.") if @peers&.unlisted?(owner)
          return Moved.new("Nobody owns shard #{shard} at the moment.") if @event_loop || owner.zero? || owner == @placement.slot

          OutsideLoop.new("Another process owns shard #{shard} of #{@name}, and only a fiber of a loop can call it: use Elah.run { ... }.")
        end

        def run_here(task, activation, name, arguments)
          settled = @commits.settled # what a call has seen of earlier ones may get lost while it waits
          reply = activation.run(task, name, arguments)
          conclude(activation, settled)
          reply
        rescue Refusal
          conclude(activation, settled)
          raise
        end

        # A result is returned, or a refusal raised, when the writes that it tells of are as durable as required.
        def conclude(activation, settled)
          batch = activation.run_batch
          return if batch <= settled

          state = activation.state
          is_cautious = !@is_durable && activation.cautious?
          conclude_all(batch, is_cautious)
          state.check(batch) if @is_durable || is_cautious
        end

        def attempt(task, shard, key, name, arguments)
          peer = other_owner(shard)
          return peer.call([@number, Chain.of(task), key, name, arguments], @request_seconds) if peer

          activation = resident(key) or raise not_here(shard)
          run_here(task, activation, method_named(name), arguments)
        rescue TypeError # raised by the method, or because the arguments cannot be sent
          check_arguments(name, arguments) if peer
          raise
        rescue PeerUnavailable => e
          e.may_have_run? ? raise : raise(Moved, e.message)
        end
      end
    end
  end
end

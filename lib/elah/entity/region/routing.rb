# frozen_string_literal: true

module Elah
  class Entity
    class Region
      # Finds who owns an entity, and calls it there.
      module Routing
        # Between two looks at a shard that changes hands.
        PAUSE_SECONDS = 0.005

        # @api private
        # @return [Carrier, nil] to the worker that owns an entity; nil when each call has to find its own way
        def carrier(key)
          current_task
          return @carriers[nil] ||= Carrier::Here.new(self) if resident(key)

          peer = other_owner(shard_of(key)) or return
          @carriers[peer] ||= Carrier::Away.new(peer, self)
        end

        # @api private
        # @return [Activation]
        # @raise [Moved] when the entity lives elsewhere
        def resident!(key)
          follow if @version != @placement.version
          @here[key] || activate(key) || raise(Moved, "#{@name}[#{Text.utf8(key)}] belongs to another worker.")
        end

        private

        # The entity, if it lives here or may.
        def resident(key)
          follow if @version != @placement.version
          @here[key] || activate(key)
        end

        def activate(key)
          shard = shard_of(key)
          return unless @claims.owned?(shard) && !@released.key?(shard)

          # Of a key only the bytes count, so it may be here in another encoding.
          key = Text.of_bytes(key)
          known = @here[key] and return known

          activation = Activation.new(self, key, shard)
          @residents.add(activation, @commits.refresh) || add_when_settled(activation)
        end

        # Entities whose writes are on their way cannot go; soon they can.
        def add_when_settled(activation)
          @commits.flush
          @here[activation.key] || @residents.add(activation, @commits.settled) or
            raise Overloaded, "All #{size} entities #{@name} in memory are busy: try again later."
        end

        def shard_of(key)
          unless key.is_a?(String) && (1..KEY_BYTES_MAX).cover?(key.bytesize)
            raise ArgumentError, "The key of an entity must be a String of 1 to #{KEY_BYTES_MAX} bytes, not #{key.inspect[0, 64]}."
          end

          Shards.of(key, @placement.shards)
        end

        def place
          @placement = Placement.current
          @version = @placement.version
          @claims = Claims.new(Epochs.of(@store), @commits)
          @placement.before_release { |shards| release(shards) }
          Peers.open(@event_loop, @placement) if @event_loop && Peers.current.nil?
        end

        # The board has changed: entities whose shards others own now are not looked for here any more.
        def follow
          @version = @placement.version
          @released.delete_if { |shard, _| !@claims.owned?(shard) }
          @carriers.clear
          @shard_carriers.clear
          @owners.clear
          lost = @claims.lost
          @residents.of(lost).each { |activation| @residents.delete(activation) }
          lost.each_key { |shard| @claims.release(shard) }
        end

        def alone? = Peers.current.nil?

        # The worker that owns a shard, unless it is this one or there is none. Looked up once for each version of the board.
        def other_owner(shard)
          follow if @version != @placement.version
          @owners[shard] ||= (Peers.current&.owner(@placement.owner_of(shard)) unless @claims.owned?(shard))
        end

        def scatter(calls, deadline)
          ways = {}.compare_by_identity
          calls.is_a?(CallColumns) ? sort_out(calls, ways) : calls.each_with_index { |call, index| (ways[carrier(call[0])] ||= []) << index }
          return repeat_moved(calls, gather(calls, deadline)) if ways.key?(nil) || Elah.current_loop.nil?

          scattered = ScatteredCalls.new(self, calls, ways, deadline)
          answers = scattered.run
          scattered.failed? ? repeat_moved(calls, answers) : answers
        end

        # Finds the carriers natively, as far as they are known.
        def sort_out(calls, ways)
          index = 0
          while (index = calls.sort_out(@shard_carriers, @placement.shards, ways, index)) < calls.size
            key = calls.key(index)
            carrier = carrier(key) or return ways[nil] = []
            @shard_carriers[shard_of(key)] = carrier
          end
        end

        # Some calls have to find their own way, because nobody owns their entities at the moment.
        def gather(calls, deadline)
          results = Elah.gather(deadline: deadline) do |gather|
            calls.to_a.each_with_index { |(key, name, *arguments), index| gather.call(index, DeferredCall.new(self, key, name, arguments)) }
          end
          results.map { |result| result.answered? ? result.value : result.error }
        end

        def call_again(key, name, *arguments)
          call(key, name, arguments)
        rescue StandardError => e
          e
        end

        # Calls an entity where the board says, again while its shard changes hands: a call that was not stored may be made again.
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

        def attempt(task, shard, key, name, arguments)
          peer = other_owner(shard)
          return peer.call([@number, Chain.of(task), key, name, arguments], @request_seconds) if peer

          activation = resident(key) or raise Moved, "Nobody owns shard #{shard} at the moment."
          run_here(task, activation, name, arguments)
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

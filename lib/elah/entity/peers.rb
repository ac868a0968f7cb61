# frozen_string_literal: true

require_relative "peer_links"

module Elah
  class Entity
    # The other workers of this server: sends them calls of entities that they own, and events of broadcasts, and runs what they send.
    class Peers
      # How long a process of a cluster that has left has for its last replies.
      LAST_REPLIES_SECONDS = 1
      private_constant :LAST_REPLIES_SECONDS

      @all = {}.compare_by_identity

      class << self
        # @return [Array<Peers>] of this process, one for each placement that it takes part in; none when it is the only worker
        def all = @all.values

        # @return [Peers, nil] the other workers of this server; nil when there are none
        def current = @all[Placement.current]

        # Opens those of all placements, before a worker is ready.
        #
        # @param event_loop [Elah::EventLoop]
        # @param placements [Array<Placement::Single, Placement::Supervised, Placement::Clustered>]
        # @yieldparam error [Elah::ListenError] there is no free port
        # @yieldreturn [Boolean] whether to try again
        # @raise [Elah::ListenError]
        def open_all(event_loop, placements)
          placements.each { |placement| open(event_loop, placement) }
        rescue PeerLinks::PortsInUse => e
          yield(e) ? retry : raise
        end

        # Starts to accept calls of other workers, unless it has.
        #
        # @param event_loop [Elah::EventLoop]
        # @param placement [Placement::Single, Placement::Supervised, Placement::Clustered]
        # @return [Peers, nil] nil when there are no other workers
        # @raise [Elah::OutsideLoop] when another loop of this process has them: they can be called from its fibers only
        def open(event_loop, placement)
          if (peers = @all[placement])
            return peers if peers.event_loop.equal?(event_loop)

            raise OutsideLoop, "Another loop of this process calls the other workers: call their entities in its fibers."
          end

          path = placement.own_path or return
          port = port_for(event_loop) if placement.network?
          links = PeerLinks.open(event_loop, path, port: port, log: Log.current) { |message| Peers.serve(message) }
          @all[placement] = new(links, placement, event_loop)
        end

        # Stops accepting calls in a loop, which ends.
        #
        # @param event_loop [Elah::EventLoop]
        def close_all(event_loop)
          ended = @all.select { |_, peers| peers.event_loop.equal?(event_loop) }
          ended.each { |placement, peers| @all.delete(placement) && peers.close }
        end

        # Runs the calls of a message.
        #
        # @param message [Array] number of the entities, waiting entities, key and name of the method (nil for many calls), arguments; or nil and the
        #   arguments of {Broadcast.receive}
        # @return [Object] the result, or for many calls an Array of results and failures; a String when all of them are texts
        def serve(message)
          number, callers, key, method, arguments = message
          return Broadcast.receive(callers, key) unless number

          collection = Collection.at(number)
          return collection.serve(callers, key, method, arguments) if key

          replies = collection.serve_many(callers, arguments)
          Shards.pack_replies(replies) || replies.map { |reply| reply.is_a?(Exception) ? PeerLinks::Failure.of(reply) : reply }
        end

        private

        # A script that no other machine calls can call other machines.
        def port_for(event_loop)
          PeerLinks::Port.bind(Elah.config) || (PeerLinks::Port.for_calls(Elah.config) unless event_loop.server?)
        end
      end

      # @return [Elah::EventLoop] in which the calls of other workers run
      attr_reader :event_loop

      # @param links [Elah::PeerLinks]
      # @param placement [Placement::Supervised, Placement::Clustered]
      # @param event_loop [Elah::EventLoop]
      def initialize(links, placement, event_loop)
        @links = links
        @event_loop = event_loop
        @placement = placement
        @peers = {}
        @version = placement.version
      end

      # @param slot [Integer]
      # @return [Elah::PeerLinks::Peer, nil] the worker that owns a slot's shards; nil if there is none
      def owner(slot)
        follow if @version != @placement.version
        @peers[slot] || find(slot)&.tap { |peer| @peers[slot] = peer }
      end

      # @param slot [Integer]
      # @return [Boolean] whether its worker lives and cannot be called, as one on another machine without `cluster_listen`
      def unlisted?(slot) = @placement.generation_of(slot).positive? && path_of(slot).nil?

      # @return [String, nil] where other machines call this worker
      def address = (@links.address if Elah.config.cluster_listen)

      # @param cluster [String] its name
      # @param writer [Integer] this process in it
      # @return [void]
      def identify(cluster, writer)
        @links.identify(cluster, writer) if @links.address
      end

      # @return [Boolean] whether no call of another worker runs
      def quiet? = @links.quiet?

      # @return [Integer] running and waiting calls of other workers
      def calls_received = @links.open_incoming

      # @return [Hash{Integer=>PeerLinks::Limiter}] limiters of the called workers, by their slots
      def limiters
        follow if @version != @placement.version
        @peers.transform_values(&:limiter)
      end

      # Stops accepting calls.
      def close
        @links.close
      end

      private

      def find(slot) = path_of(slot)&.then { |path| @links.peer(path) }

      def path_of(slot)
        generation = @placement.generation_of(slot)
        @placement.link_path(slot, generation) unless generation.zero?
      end

      # Owners have changed. Links to replaced workers are closed once no call waits for a reply there.
      def follow
        @version = @placement.version # first, for what changes meanwhile
        @peers, gone = @peers.partition { |slot, peer| peer.address == path_of(slot) }.map(&:to_h)
        @links.retain_used(@peers.values)
        give_up(gone) if gone.any? && @placement.network?
      end

      # Ends the calls that still wait for who has vanished, and soon those for who has left.
      def give_up(gone)
        vanished, left = gone.partition { |slot, _| @placement.vanished?(slot) }.map { |peers| peers.map { |_, peer| peer.address } }
        @links.drop(vanished) if vanished.any?
        return if left.empty?

        wait = @event_loop.new_wait
        @event_loop.after_wait(wait) { @links.drop(left - @peers.each_value.map(&:address)) }
        @event_loop.start_timer(wait, LAST_REPLIES_SECONDS)
      end
    end
  end
end

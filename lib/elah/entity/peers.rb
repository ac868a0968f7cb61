# frozen_string_literal: true

module Elah
  class Entity
    # The other workers of this server: sends them calls of entities that they own, and runs the calls that they send.
    class Peers
      class << self
        # @return [Peers, nil] the peers of this process; nil when it is the only worker
        attr_accessor :current

        # Starts to accept calls of other workers. Called when a worker boots.
        #
        # @param event_loop [Elah::EventLoop]
        # @param placement [Placement::Single, Placement::Supervised]
        # @return [Peers, nil] nil when there are no other workers
        def open(event_loop, placement)
          path = placement.link_path(placement.slot, placement.generation) or return
          require_relative "peer_links"
          @current = new(PeerLinks.open(event_loop, path, log: Log.current) { |message| Peers.serve(message) }, placement)
        end

        # Runs the calls of a message.
        #
        # @param message [Array] number of the entities, waiting entities, key and name of the method (nil for many calls), arguments
        # @return [Object] the result, or for many calls an Array of results and failures; a String when all of them are texts
        def serve(message)
          number, callers, key, method, arguments = message
          collection = Collection.at(number)
          return collection.serve(callers, key, method, arguments) if key

          replies = collection.serve_many(callers, arguments)
          Shards.pack_replies(replies) || replies.map { |reply| reply.is_a?(Exception) ? PeerLinks::Failure.of(reply) : reply }
        end
      end

      # @param links [Elah::PeerLinks]
      # @param placement [Placement::Supervised]
      def initialize(links, placement)
        @links = links
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
        Peers.current = nil
        @links.close
      end

      private

      def find(slot) = path_of(slot)&.then { |path| @links.peer(path) }

      def path_of(slot)
        generation = @placement.generation_of(slot)
        @placement.link_path(slot, generation) unless generation.zero?
      end

      # The scoreboard has changed. Links to replaced workers are closed once no call waits for a reply there.
      def follow
        @version = @placement.version # first, for what changes meanwhile
        @peers.select! { |slot, peer| peer.address == path_of(slot) }
        @links.retain_used(@peers.values)
      end
    end
  end
end

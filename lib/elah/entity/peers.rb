# frozen_string_literal: true

module Elah
  class Entity
    # The other workers of this server: sends them calls of entities that they own, and makes those that they send.
    class Peers
      class << self
        # @return [Peers, nil] those of this process; nil when it is alone
        attr_accessor :current

        # Begins to take calls of other workers. Called when a worker boots.
        #
        # @param event_loop [Elah::EventLoop]
        # @param placement [Placement::Single, Placement::Supervised]
        # @return [Peers, nil] nil when there are no other workers
        def open(event_loop, placement)
          path = placement.link_path(placement.slot, placement.incarnation) or return
          require_relative "../peer_links"
          @current = new(PeerLinks.open(event_loop, path, log: Log.current) { |message| Peers.serve(message) }, placement)
        end

        # Makes the calls of a message.
        #
        # @param message [Array] the number of the entities, who waits, key and name of the method (nil for many calls), arguments
        # @return [Object] the answer, or for many calls an Array of answers and failures; a String when all of them are texts
        def serve(message)
          number, callers, key, method, arguments = message
          region = Region.at(number)
          return region.serve(callers, key, method, arguments) if key

          answers = region.serve_many(callers, arguments)
          Shards.pack_answers(answers) || answers.map { |answer| answer.is_a?(Exception) ? PeerLinks::Failure.of(answer) : answer }
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
      # @return [Elah::PeerLinks::Peer, nil] the worker that owns a slot's shards; nil while there is none
      def owner(slot)
        follow if @version != @placement.version
        @peers[slot] || find(slot)&.tap { |peer| @peers[slot] = peer }
      end

      # @return [Boolean] whether no call of another worker runs
      def quiet? = @links.quiet?

      # @return [Integer] calls of other workers that run here or wait for it
      def calls_received = @links.open_incoming

      # @return [Hash{Integer=>PeerLinks::Limiter}] how the workers that were called are bounded, by their slots
      def limiters
        follow if @version != @placement.version
        @peers.transform_values(&:limiter)
      end

      # Takes no calls any more.
      def close
        Peers.current = nil
        @links.close
      end

      private

      def find(slot) = path_of(slot)&.then { |path| @links.peer(path) }

      def path_of(slot)
        incarnation = @placement.incarnation_of(slot)
        @placement.link_path(slot, incarnation) unless incarnation.zero?
      end

      # The board has changed. Links to workers that were replaced go when nothing waits for an answer there any more.
      def follow
        @version = @placement.version # first, for what changes meanwhile
        @peers.select! { |slot, peer| peer.path == path_of(slot) }
        @links.retain_used(@peers.values)
      end
    end
  end
end

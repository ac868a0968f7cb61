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
        # @param log [Elah::Log]
        # @return [Peers, nil] nil when there are no other workers
        def open(event_loop, placement, log)
          path = placement.link_path(placement.slot, placement.incarnation) or return
          require_relative "../peer_links"
          @current = new(PeerLinks.open(event_loop, path, log: log) { |message| Peers.serve(*message) }, placement)
        end

        # Makes the calls of a message.
        #
        # @return [Object] the answer, or for many calls an Array of answers and failures
        def serve(dir, name, callers, key, method, arguments)
          region = Region.at(dir, name)
          return region.serve(callers, key, method, arguments) if key

          region.serve_many(callers, arguments).map { |answer| answer.is_a?(Exception) ? PeerLinks::Failure.of(answer) : answer }
        end
      end

      # @param links [Elah::PeerLinks]
      # @param placement [Placement::Supervised]
      def initialize(links, placement)
        @links = links
        @placement = placement
      end

      # @param slot [Integer]
      # @return [Elah::PeerLinks::Peer, nil] the worker that owns a slot's shards; nil while there is none
      def owner(slot)
        incarnation = @placement.incarnation_of(slot)
        @links.peer(@placement.link_path(slot, incarnation)) unless incarnation.zero?
      end

      # @return [Boolean] whether no call of another worker runs
      def quiet? = @links.quiet?

      # Takes no calls any more.
      def close
        Peers.current = nil
        @links.close
      end
    end
  end
end

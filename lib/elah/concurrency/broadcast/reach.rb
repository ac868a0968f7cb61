# frozen_string_literal: true

require_relative "outlet"

module Elah
  class Broadcast
    # The workers to which this one sends its named broadcasts: the other workers of its machine, and one worker of each other machine, which
    # forwards the events to the others there.
    class Reach
      # @param event_loop [Elah::EventLoop]
      # @param placement [Placement::Supervised, Placement::Clustered]
      # @param peers [Entity::Peers]
      def initialize(event_loop, placement, peers)
        @loop = event_loop
        @placement = placement
        @peers = peers
        @version = nil
        @neighbours = {}
        @machines = {}
      end

      # Sends an event of this worker. May be called in another thread.
      #
      # @param broadcast [Broadcast]
      # @param frame [String]
      # @return [void]
      def push(broadcast, frame)
        return @loop.post { push_here(broadcast, frame) } unless Elah.current_loop.equal?(@loop)

        push_here(broadcast, frame)
      end

      # Sends an event of another machine to the others of this one.
      #
      # @param (see #push)
      # @return [void]
      def pass_on(broadcast, frame)
        follow if @version != @placement.version
        @neighbours.each_value { |outlet| outlet.push(broadcast, frame) }
      end

      private

      def push_here(broadcast, frame)
        pass_on(broadcast, frame)
        @machines.each_value { |outlet| outlet.push(broadcast, frame) }
      end

      def follow
        @version = @placement.version # first, for what changes meanwhile
        @neighbours = outlets(@neighbours, @placement.neighbours.to_h { |slot| [slot, [slot]] }, false)
        @machines = outlets(@machines, @placement.machines, true)
      end

      def outlets(known, slots, passes_on)
        slots.to_h { |key, of_key| [key, (known[key] || Outlet.new(@loop, @peers, passes_on)).to(of_key)] }
      end
    end

    private_constant :Reach
  end
end

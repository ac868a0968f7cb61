# frozen_string_literal: true

module Elah
  module Placement
    # The placement of a process in a cluster: each process of each machine is a slot, whose number is that of its writer in the database. A process
    # that was declared dead goes on as another writer. See {Placement}.
    class Clustered
      include Releasing

      # @return [Integer] of the process that it was made in
      attr_reader :process_id

      # @return [Integer] how many shards there are
      attr_reader :shards

      # @param native [Elah::Clients::Cluster]
      # @param node [String] name of this machine
      # @param shards [Integer]
      # @param socket [String] path of the Unix socket on which this process takes calls of others
      # @api private
      def initialize(native, node:, shards:, socket:)
        @native = native
        @node = node
        @shards = shards
        @socket = socket
        @process_id = Process.pid
        @before_release = []
      end

      # @return [Integer] the number of this process's writer; 0 while the database has not given it one
      def slot = @native.writer

      # @return [Integer] the same, since a writer never comes again; -1, which nobody has, while there is none
      def generation = slot.zero? ? -1 : slot

      # @return [Integer] the process that represents this server
      def server_id = Placement.current.server_id

      # @return [Integer] another one whenever a shard has another owner, or a writer came or went
      def version = @native.version

      # @param shard [Integer] 0 until {#shards}
      # @return [Integer] the writer that owns it; 0 for none
      def owner_of(shard) = @native.owner_of(shard)

      # @param shard [Integer]
      # @return [Integer] the term under which this process owns it; 0 if it does not
      def term_of(shard) = @native.term_of(shard)

      # @param slot [Integer] a writer
      # @return [Integer] the writer if it lives, else 0
      def generation_of(slot) = slot.positive? && @native.alive?(slot) ? slot : 0

      # @param slot [Integer] a writer
      # @return [Boolean] whether it was declared dead for its silence, so that it replies to no call
      # @api private
      def vanished?(slot) = @native.vanished?(slot)

      # @return [Array<Integer>] the other writers of this machine
      # @api private
      def neighbours = others.fetch(@node, [])

      # @return [Hash{String=>Array<Integer>}] the writers of other machines, by the names of these
      # @api private
      def machines = others.except(@node)

      # @param slot [Integer] a writer
      # @param _generation [Integer]
      # @return [String, nil] where it takes calls of this process
      # @api private
      def link_path(slot, _generation) = slot == @native.writer ? @socket : @native.address_of(slot)

      # @return [String] where this process takes calls of others
      # @api private
      def own_path = @socket

      # @return [Boolean] whether other machines call this process
      # @api private
      def network? = true

      # Hands shards over whenever the cluster asks for it, as long as the loop runs.
      #
      # @param event_loop [Elah::EventLoop]
      # @api private
      def serve_releases(event_loop)
        return if @serves

        @serves = true
        event_loop.post do
          event_loop.spawn(Task.service) { hand_over }
        rescue Overloaded
          @serves = false
        end
      end

      private

      def others
        # A process that goes on as another writer is also the one before, until that is known to be fenced.
        living = @native.members.reject { |writer, member| member[:fenced] || writer == slot || link_path(writer, writer) == @socket }
        living.keys.sort.group_by { |writer| living[writer][:node] }
      end

      # A long call holds up its own shard only.
      def hand_over
        while (terms = @native.next_release)
          terms.each { |term| start_hand_over(term) }
        end
      ensure
        @serves = false
      end

      def start_hand_over(term)
        Elah.async(detached: true) { hand_over_term(term) }
      rescue Overloaded
        hand_over_term(term)
      end

      def hand_over_term(term)
        release_terms([term].to_h) { |exception| Log.current.exception(exception, "A shard could not be handed over in order") }
        @native.release([term])
      end
    end
  end
end

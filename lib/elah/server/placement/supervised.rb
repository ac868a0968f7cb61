# frozen_string_literal: true

module Elah
  module Placement
    # The placement of a worker under a supervisor, read from the scoreboard at each call. See {Placement}.
    class Supervised
      include Publishing
      include Releasing

      # @return [Integer] of this worker's process
      attr_reader :process_id

      # @return [Integer] the number of this worker's slot
      attr_reader :slot

      # @return [Integer] unique for each start of a worker, and larger than those before it
      attr_reader :generation

      # @return [Integer] how many shards there are
      attr_reader :shards

      # @param scoreboard [Elah::Scoreboard]
      # @param run_dir [Elah::RunDir]
      # @param slot [Integer] of this worker
      # @param row [Integer] of this process
      # @param generation [Integer]
      # @api private
      def initialize(scoreboard, run_dir, slot:, row:, generation:)
        @scoreboard = scoreboard
        @run_dir = run_dir
        @slot = slot
        @row = row
        @generation = generation
        @shards = scoreboard.shards.size
        @process_id = Process.pid
        @before_release = []
      end

      # @return [Integer] the process that represents this server: the supervisor
      def server_id = @run_dir.process_id

      # @return [Integer] slots are 0 until this; some may be empty
      def slots = @scoreboard.server_value(:slots)

      # @return [Integer] another one whenever a shard has another owner, or a slot another generation
      def version = @scoreboard.map_version

      # @param shard [Integer]
      # @return [Integer] the slot that owns it
      # @raise [IndexError] when there is no such shard
      def owner_of(shard) = @scoreboard.owner_of(shard)

      # @param shard [Integer]
      # @return [Integer] another one whenever it gets an owner, also one that it had before
      def term_of(shard) = @scoreboard.term_of(shard)

      # @param slot [Integer]
      # @return [Integer] which generation owns the slot's shards, 0 while none does
      def generation_of(slot) = @scoreboard.slot_value(slot, :generation)

      # @return [Array<Integer>] slots of the other workers
      # @api private
      def neighbours = (0...slots).reject { |slot| slot == @slot || generation_of(slot).zero? }

      # @return [Hash] other machines are not called
      # @api private
      def machines = {}

      # @return [String] the path of the Unix socket on which that generation takes calls of other workers
      # @api private
      def link_path(slot, generation) = @run_dir.link_path(slot, generation)

      # @return [String] where this worker takes calls of others
      # @api private
      def own_path = link_path(slot, generation)

      # @return [Boolean] whether other machines call this process
      # @api private
      def network? = false

      # Hands shards over, in a fiber of this worker.
      #
      # @param shards [Array<Integer>]
      # @yieldparam exception [Exception] what a block of {#before_release} ended with
      # @api private
      def release(shards, &) = release_terms(shards.to_h { |shard| [shard, term_of(shard)] }, &)
    end
  end
end

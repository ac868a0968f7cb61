# frozen_string_literal: true

require_relative "publishing"

module Elah
  module Placement
    # The placement of a process without a supervisor: one slot, which owns every shard as long as the process lives.
    class Single
      include Publishing

      # @return [Integer] of the process that it was made in
      attr_reader :process_id

      # @return [Integer] unique for each start, and larger than those before it
      attr_reader :generation

      # @return [Integer] how many shards there are
      attr_reader :shards

      # @return [Elah::Scoreboard] that of the server that this process is; it has one row
      # @api private
      attr_writer :scoreboard

      # @param shards [Integer]
      # @api private
      def initialize(shards: Elah.config.shards)
        @shards = shards
        @process_id = Process.pid
        @generation = Placement.first_generation
        @row = 0
      end

      # @return [Integer] the number of this worker's slot
      def slot = 0

      # @return [Integer] the process that represents this server
      def server_id = Process.pid

      # @return [Integer] how many slots there are
      def slots = 1

      # @return [Integer] another one whenever a shard has another owner, or a slot another generation
      def version = 1

      # @param _shard [Integer] 0 until {#shards}
      # @return [Integer] the slot that owns it
      def owner_of(_shard) = 0

      # @param _shard [Integer]
      # @return [Integer] always the same
      def term_of(_shard) = 1

      # @param slot [Integer]
      # @return [Integer] which generation owns the slot's shards, 0 while none does
      def generation_of(slot) = slot.zero? ? @generation : 0

      # @param _slot [Integer]
      # @param _generation [Integer]
      # @return [String, nil] the path of the Unix socket for calls of other workers, nil where there are none
      # @api private
      def link_path(_slot, _generation) = nil

      # @return [nil] there are no other workers
      # @api private
      def own_path = nil

      # @return [Boolean] whether other machines call this process
      # @api private
      def network? = false

      # Runs the block in a fiber of this worker when shards are to be handed over; without other workers, never.
      #
      # @return [Hash] empty
      # @api private
      def before_release = {}
    end

    # A generation for a process without predecessors to count from: the time, then what tells two processes of the same time apart.
    #
    # @return [Integer] positive, below 2**62
    # @api private
    def self.first_generation = (Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) << 16) | (Process.pid & 0xffff)
  end
end

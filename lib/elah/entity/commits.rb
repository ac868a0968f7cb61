# frozen_string_literal: true

module Elah
  class Entity
    # Commits of one collection. The writes that calls gather in an iteration of the loop form one batch, which is sent after the iteration. Batches
    # are numbered from 1 and settled in order.
    class Commits
      # Bytes that may be unsettled before a `:memory` call waits.
      WAITING_BYTES_MAX = 16 * 1024 * 1024

      # @param native [Elah::Shards::Commits] of the store
      def initialize(native)
        @native = native
        @event_loop = nil
        @planned = @settled = 0
      end

      # @return [Integer] a batch up to which all batches are settled; later ones may be settled too
      attr_reader :settled

      # Sets the loop after whose iterations batches are sent; with nil each is sent at once.
      #
      # @param event_loop [Elah::EventLoop, nil]
      def event_loop=(event_loop)
        @native.submit # what the last loop has not
        @event_loop = event_loop
      end

      # @return [Integer] the last batch that is scheduled
      attr_reader :planned

      # Schedules the batch that calls have begun to gather.
      #
      # @param batch [Integer]
      def plan(batch)
        @planned = batch
        @event_loop ? @event_loop.post { @native.submit } : @native.submit
      end

      # Sends gathered writes at once.
      #
      # @return [Integer] the last batch that was sent
      def submit = @native.submit

      # Waits until a batch is settled.
      #
      # @param batch [Integer]
      def settle(batch)
        return if batch <= @settled

        @native.wait(batch)
        @settled = @native.settled
      end

      # @return [Integer] the current value of {#settled}
      def refresh = @settled = @native.settled

      # Waits until a batch is settled, and lets it neither wait for the end of the iteration nor linger.
      #
      # @param batch [Integer]
      def settle_now(batch)
        return if batch <= @settled

        @native.submit
        settle(batch)
      end

      # Waits if too many bytes are unsettled.
      #
      # @param batch [Integer]
      def hold_back(batch)
        settle_now(batch) if @native.waiting_bytes > WAITING_BYTES_MAX
      end

      # @return [Boolean] whether gathered writes are not settled; they are sent
      def waiting? = submit > refresh

      # Waits until all gathered writes are settled.
      def flush = settle(submit)

      # Claims shards for a generation.
      #
      # @param wanted [Array<Integer>]
      # @param shards [Integer] number of all shards
      # @param generation [Integer]
      # @return [Array<Elah::Shards::Claim>] once they are on disk
      def claim(wanted, shards, generation) = @native.claim(wanted, shards, generation)

      # @param claim [Elah::Shards::Claim]
      # @return [Boolean] whether no other process has claimed the shard since
      def owns?(claim) = @native.owns?(claim)

      # @param claim [Elah::Shards::Claim] on the entity's shard
      # @param key [String]
      # @return [Elah::Shards::State]
      def open_state(claim, key) = Shards::State.open(@native, claim, key)
    end
  end
end

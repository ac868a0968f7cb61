# frozen_string_literal: true

module Elah
  class Entity
    # The way of one region's writes to the disk. What calls gather in one turn of the loop leaves as one batch after the turn; batches are
    # numbered from 1 and settled in their order.
    class Commits
      # What may be on its way before a call whose answer does not wait for the disk waits all the same.
      WAITING_BYTES_MAX = 16 * 1024 * 1024

      # @param tables [Array<Elah::Store::Table>] which writes name by their place: first that of the entities, then those of the indexes
      # @param durable [Boolean] whether answers wait for the disk
      # @param delay_seconds [Numeric] for how long a batch that nobody waits for is joined by others: with many rows a page of the store, the
      #   transaction costs a fraction for each
      def initialize(tables, durable: true, delay_seconds: 0)
        @native = Shards::Commits.open(tables, delay_seconds, durable, WAITING_BYTES_MAX)
        @event_loop = nil
        @planned = @settled = 0
      end

      # @return [Integer] a number up to which all batches are settled; others may be, too
      attr_reader :settled

      # Whose turns the batches leave with; nil when each leaves at once.
      #
      # @param event_loop [Elah::EventLoop, nil]
      def event_loop=(event_loop)
        @native.submit # what the last loop has not
        @event_loop = event_loop
      end

      # @return [Integer] the last batch whose leaving is planned
      attr_reader :planned

      # Has a batch leave that calls have begun to gather.
      #
      # @param batch [Integer]
      def plan(batch)
        @planned = batch
        @event_loop ? @event_loop.post { @native.submit } : @native.submit
      end

      # Has a batch leave, unless that is planned.
      #
      # @param batch [Integer]
      def expect(batch) = (plan(batch) if batch > @planned)

      # Waits until a batch is settled.
      #
      # @param batch [Integer]
      def settle(batch)
        return if batch <= @settled

        @native.wait(batch)
        @settled = @native.settled
      end

      # @return [Integer] what {#settled} is now
      def refresh = @settled = @native.settled

      # Waits if too much is on its way.
      #
      # @param batch [Integer]
      def hold_back(batch)
        settle(batch) if @native.waiting_bytes > WAITING_BYTES_MAX
      end

      # Waits until everything is settled that was gathered.
      def flush = settle(@native.submit)

      # Claims shards for an incarnation.
      #
      # @param wanted [Array<Integer>]
      # @param shards [Integer] how many there are
      # @param incarnation [Integer]
      # @return [Array<Elah::Shards::Claim>] once they are on disk
      def claim(wanted, shards, incarnation) = @native.claim(wanted, shards, incarnation)

      # @param claim [Elah::Shards::Claim]
      # @return [Boolean] whether nobody else has claimed the shard since
      def owns?(claim) = @native.owns?(claim)

      # @param claim [Elah::Shards::Claim] on the entity's shard
      # @param key [String]
      # @return [Elah::Shards::State]
      def open_state(claim, key) = Shards::State.open(@native, claim, key)
    end
  end
end

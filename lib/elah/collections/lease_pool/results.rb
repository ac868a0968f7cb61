# frozen_string_literal: true

module Elah
  class LeasePool
    # A lent item. Times are microseconds since 1970 by the clock of the pool.
    #
    # @attr_reader [Integer] item
    # @attr_reader [Integer] serial counts the leases of the pool
    # @attr_reader [String, nil] session
    # @attr_reader [Integer] begun_at when the hold began
    # @attr_reader [Integer] held_until when it ends
    # @attr_reader [Boolean] is_new whether the call has made or changed the lease
    Lease = Struct.new(:item, :serial, :session, :begun_at, :held_until, :is_new) do
      # @return [String] identifies the lease, and no later one of the same item
      def id = "#{item}-#{serial}"

      # @return [Boolean] false when the session held the item before, or a renewal changed nothing
      def new? = is_new
    end

    # Usage of a pool's items.
    #
    # @attr_reader [Integer] items how many there are, without those that leave
    # @attr_reader [Integer] free
    # @attr_reader [Integer] held
    # @attr_reader [Integer] quarantined
    # @attr_reader [Integer] leaving how many leave when their hold and quarantine are over
    # @attr_reader [Integer] leases how many the pool has made
    # @attr_reader [Integer] overflows how many requests found no free item; after a restart, as far as the last snapshot knew
    # @attr_reader [Integer, nil] next_free_at when an item is free, in microseconds since 1970; nil when the pool has no items
    Statistics = Struct.new(:items, :free, :held, :quarantined, :leaving, :leases, :overflows, :next_free_at)

    # The holder of an item at some time. Times are microseconds since 1970.
    #
    # @attr_reader [Integer] item
    # @attr_reader [Integer] serial counts the leases of the pool
    # @attr_reader [String, nil] session
    # @attr_reader [Integer] begun_at when the hold began
    # @attr_reader [Integer] held_until when the hold was to end, as far as that was known at that time
    # @attr_reader [String, nil] data the data of the lease; nil when its row is older than the kept history
    Holder = Struct.new(:item, :serial, :session, :begun_at, :held_until, :data) do
      # @return [String] see {Lease#id}
      def id = "#{item}-#{serial}"
    end

    Core.structs(Lease, Statistics, Holder)
  end
end

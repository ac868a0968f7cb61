# frozen_string_literal: true

require_relative "slot_queues/loans"

module Elah
  # Numbered slots that stand in queues and are lent for a time: what is behind a pool of telephone numbers, seats or licences. A slot stands in
  # one queue or in none, and joins, leaves or changes its queue in a constant number of steps, however many there are. It is native, and a slot
  # takes 48 bytes.
  #
  # The numbers 0 to count - 1 are the queues; slots are the numbers after them, up to 16,777,215. A slot is there once it has joined a queue.
  # Times are Integers in any unit.
  #
  # @example
  #   queues = Elah::SlotQueues.new(2)                                    # 0: free, 1: lent
  #   [2, 3].each { |slot| queues.append(slot, 0) }
  #   queues.lend_first(0, 1, 100, 160, 1)                                # => 2, from 100 until 160
  #   queues.move_due(1, 200, 0)                                          # => 1, which is free again
  #   queues.slots(0)                                                     # => [3, 2]
  class SlotQueues
    # @!method self.new(count)
    #   @param count [Integer] of queues

    # @!method first(queue)
    #   @param queue [Integer]
    #   @return [Integer, nil] the slot that has stood in it for longest

    # @!method size(queue)
    #   @param queue [Integer]
    #   @return [Integer] how many slots stand in it

    # @!method slots(queue)
    #   @param queue [Integer]
    #   @return [Array<Integer>] those that stand in it, the longest standing first

    # @!method loans(queue)
    #   @param queue [Integer]
    #   @return [Array<Integer>] of each of its {#slots}, one after the other: {#begun}, {#due} and {#serial}

    # @!method queue(slot)
    #   @param slot [Integer]
    #   @return [Integer, nil] the queue in which it stands

    # @!method append(slot, queue)
    #   @param slot [Integer] that stands in no queue
    #   @param queue [Integer]
    #   @raise [ArgumentError] when it stands in one, or there is no such queue

    # @!method remove(slot)
    #   @param slot [Integer] that stands in a queue
    #   @raise [ArgumentError] when it does not

    # @!method lend(slot, queue, begun, due, serial)
    #   Appends a slot that is lent.
    #
    #   @param slot [Integer] that stands in no queue
    #   @param queue [Integer]
    #   @param begun [Integer] from when on
    #   @param due [Integer] until when
    #   @param serial [Integer] of this loan, whatever the caller makes of it
    #   @raise [ArgumentError] see {#append}

    # @!method lend_first(queue, lent, begun, due, serial)
    #   Moves the slot that has stood in a queue for longest to the end of another, lent as by {#lend}.
    #
    #   @param queue [Integer]
    #   @param lent [Integer] the other queue
    #   @return [Integer, nil] the slot

    # @!method move_due(queue, now, other)
    #   Moves the slots at the head of a queue that are due to the end of another, in their order.
    #
    #   @param queue [Integer]
    #   @param now [Integer]
    #   @param other [Integer]
    #   @return [Integer] how many

    # @!method set_due(slot, due)
    #   Changes until when a slot is lent, but not where it stands.
    #
    #   @param slot [Integer]
    #   @param due [Integer]

    # @!method now
    #   @return [Integer] when the last step was, 0 before the first

    # @!method step(now)
    #   Begins a step. No two have the same time, and none an earlier one than the step before: where the caller's clock says otherwise, a step
    #   comes one unit after the one before.
    #
    #   @param now [Integer]
    #   @return [Integer] the time of the step

    # @!method advance(now)
    #   @param now [Integer] moves the time of the last step forward
    #   @return [Integer] {#now}

    # @!method last_serial
    #   @return [Integer] the serial number of the last loan, which the caller counts

    # @!method last_serial=(serial)
    #   @param serial [Integer]

    # @!method begun(slot)
    #   @param slot [Integer]
    #   @return [Integer] from when on it was lent last

    # @!method due(slot)
    #   @param slot [Integer]
    #   @return [Integer] until when it was lent last

    # @!method serial(slot)
    #   @param slot [Integer]
    #   @return [Integer] that {#lend} was given
  end
end

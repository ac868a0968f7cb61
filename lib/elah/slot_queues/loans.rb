# frozen_string_literal: true

module Elah
  class SlotQueues
    # Stands for a method of an entity that lends the slot that has stood in a queue for longest: notes the loan as a row of an index, and
    # answers with a text of the slot, natively. The entity has it stand there with {Entity#natively}, and says until when and how often it may.
    #
    # It makes calls of {Entity::CallColumns} with no text but the last, and with the time as their only other argument; for any other, or when
    # no slot is free, or it knows no text for the next one, the method itself is called. A row has the key `prefix` + time, and the value
    # head of the slot + serial number + two spaces + text.
    #
    # @example
    #   @loans = Elah::SlotQueues::Loans.new(:take, @queues, 0, 1, index(:steps), "#{key} ")
    #   @loans.describe(slot, "seat 7 ", '"seat":7')
    #   @loans.open(3600, closing_time, 100)
    #   natively @loans
    class Loans
      # @!method self.new(name, queues, from, to, index, prefix)
      #   @param name [Symbol] of the method
      #   @param queues [SlotQueues] whose {SlotQueues#now} and {SlotQueues#last_serial} go on with each loan
      #   @param from [Integer] the queue of the free slots
      #   @param to [Integer] the queue of those that are lent; when no slot is free, those that are due come back
      #   @param index [Entity::Index] of the entity
      #   @param prefix [String]

      # @!method describe(slot, head, answer)
      #   @param slot [Integer]
      #   @param head [String] of 1 to 55 bytes: what the value of its rows begins with
      #   @param answer [String]
      #   @raise [ArgumentError] when there can be no such slot, or the head is too long

      # @!method open(hold, until, loans_max)
      #   @param hold [Integer] how long a slot is lent
      #   @param until [Integer] from this time on the method is called
      #   @param loans_max [Integer] after so many too

      # @!method close
      #   Has the method itself called from now on.
      #
      #   @return [Integer] how many loans were made since the last time
    end
  end
end

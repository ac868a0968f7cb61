# frozen_string_literal: true

module Elah
  class Store
    # The root of what the store raises. Nothing of the operation that raised was stored.
    class Error < Elah::Error; end

    # A key, or the name of a table, is empty or too long.
    class InvalidKey < Error; end

    # A value, a transaction or the number of tables is over its limit.
    class TooLarge < Error; end

    # A counter would leave the range of 64 bits.
    class Overflow < Error; end

    # The store's entities are divided into another number of shards than the option `shards` says.
    class OtherShards < Error; end

    # The store cannot do it now, whatever the caller does: the root of the errors below. Unrescued, it is the request's 503.
    class Unavailable < Error
      include Problem

      # @return [Integer] the HTTP status that fits
      def status = 503

      # @return [String] the stable code of the problem
      def code = "store_unavailable"
    end

    # The file has reached `bytes_max`, or the disk has no room. The store works again when there is room.
    class Full < Unavailable
      # @return [Integer] the HTTP status that fits
      def status = 507

      # @return [String] the stable code of the problem
      def code = "store_full"
    end

    # The disk failed a write or a sync, so what it holds is unknown. The store takes no more writes until it is closed and
    # opened again. Reads go on, unless it was the record of the last commit that failed.
    class Failed < Unavailable; end

    # Too many writes wait for the disk, or too many transactions are open.
    class Busy < Unavailable; end

    # A transaction lost against other writes at each of its attempts.
    class Conflict < Unavailable; end

    # Another process owns what was to be written; see {Elah::Entity}.
    class Fenced < Unavailable; end

    # The store, or the transaction, is closed.
    class Closed < Unavailable; end

    # The directory cannot be used as a store: it is not writable, or its file is not Elah's.
    class CannotOpen < Unavailable
      # @return [String] without the path
      def detail = "The store cannot be opened."
    end

    # The file of a store is empty or cut off, or a page of it is not what was written.
    class Damaged < CannotOpen; end
  end
end

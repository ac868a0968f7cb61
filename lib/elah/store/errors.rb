# frozen_string_literal: true

module Elah
  class Store
    # Root of the store's errors. The operation that raised has stored nothing, unless {Unavailable#may_have_run?} says otherwise.
    class Error < Elah::Error; end

    # A key, or the name of a table, is empty or too long.
    class InvalidKey < Error; end

    # A value, a transaction or the number of tables is over its limit.
    class TooLarge < Error; end

    # A counter would leave the range of 64 bits.
    class Overflow < Error; end

    # The store's entities have another number of shards than the option `shards` sets.
    class OtherShards < Error; end

    # The store is unavailable for now: root of the errors below. If the app does not rescue it, the request gets 503.
    class Unavailable < Error
      include Problem

      # @param message [String]
      # @param may_have_run [Boolean]
      # @param detail [String, nil] the text for the client, if it is not the message
      def initialize(message = nil, may_have_run: false, detail: nil)
        super(message)
        @may_have_run = may_have_run
        @detail = detail
      end

      # @return [Boolean] true only on a cluster, when the connection was lost or the time was over before the database had replied: it may have
      #   stored the operation
      def may_have_run? = @may_have_run ? true : false

      # @return [String] the text for the client
      def detail = @detail || super

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

    # A write or a sync of the disk failed, so the state of the disk is unknown. The store accepts no writes until it is closed and opened again.
    # Reads continue, unless the record of the last commit failed.
    class Failed < Unavailable; end

    # Too many writes wait for the disk, or too many transactions are open.
    class Busy < Unavailable; end

    # A transaction conflicted with other writes at each attempt.
    class Conflict < Unavailable; end

    # Another process owns the shard of the write; see {Elah::Entity}.
    class Fenced < Unavailable; end

    # A lease pool or a ranked set in a table was opened by another process since, or by the parent of this fork. Only one process can write it.
    class OpenedElsewhere < Unavailable; end

    # A store accepts no writes at the moment; raised by {Store.check_ready} with the reason.
    class NotReady < Unavailable; end

    # The store, or the transaction, is closed.
    class Closed < Unavailable; end

    # The directory cannot be used as a store: it is not writable, or its file is not Elah's.
    class CannotOpen < Unavailable
      # @return [String] without the path
      def detail = "The store cannot be opened."
    end

    # Another process has the store open, which the operation does not allow.
    class InUse < CannotOpen; end

    # The file of a store is empty or truncated, or one of its pages is damaged.
    class Damaged < CannotOpen; end
  end
end

# frozen_string_literal: true

module Elah
  class LeasePool
    # Root of the errors of lease pools. The operation that raised has changed nothing.
    class Error < Elah::Error
      # @return [String] the stable code of the error
      def code = "lease_pool_error"
    end

    # {LeasePool#lease!} found no free item. If the app does not rescue it, the request gets 503.
    class Exhausted < Error
      include Problem

      # @return [Integer] the HTTP status that fits
      def status = 503

      # @return [String] the stable code of the problem
      def code = "no_free_item"
    end

    # An item is below 0 or above 2**62 - 1, is listed twice, or the list has more than {ITEMS_MAX}. Or so many items
    # still leave that the pool has no room for the list.
    class InvalidItem < Error
      # @return [String] the stable code of the error
      def code = "invalid_item"
    end

    # A session is empty or has more than 255 bytes. If the app does not rescue it, the request gets 422.
    class InvalidSession < Error
      include Problem

      # @return [Integer] the HTTP status that fits
      def status = 422

      # @return [String] the stable code of the problem
      def code = "invalid_session"
    end

    # The data of a lease has more than 65,536 bytes. If the app does not rescue it, the request gets 422.
    class InvalidData < Error
      include Problem

      # @return [Integer] the HTTP status that fits
      def status = 422

      # @return [String] the stable code of the problem
      def code = "invalid_data"
    end

    # A hold or a quarantine is out of range.
    class InvalidTerms < Error
      # @return [String] the stable code of the error
      def code = "invalid_terms"
    end

    # The name of a pool among its rows has more than 255 bytes.
    class InvalidName < Error
      # @return [String] the stable code of the error
      def code = "invalid_name"
    end

    # A stored row is damaged, or does not belong to a lease pool.
    class InvalidRow < Error
      # @return [String] the stable code of the error
      def code = "invalid_row"
    end
  end
end

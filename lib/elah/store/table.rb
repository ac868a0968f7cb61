# frozen_string_literal: true

module Elah
  class Store
    # Ordered keys with values. Keys are Strings of 1 to 480 bytes, values of up to 64 MiB; both come back as binary Strings.
    class Table
      # Entries that {#range} answers, and that {#each} reads at once, unless told otherwise.
      LIMIT = 1000

      # @!method name
      #   @return [String]

      # @!method get(key)
      #   Reads at once, without suspending.
      #   @param key [String]
      #   @return [String, nil] the value; nil when there is none or it has expired
      #   @raise [InvalidKey]

      # @!method size
      #   @return [Integer] the number of entries, including those that have expired and were not swept yet

      # @!method at(position)
      #   Reads at once, without suspending. For tables whose keys are the positions 0 to {#size} - 1, as 8 bytes, the highest first
      #   (`[position].pack("Q>")`): a position that is drawn at random below the size is an entry drawn at random.
      #   @param position [Integer] 0 to 2**64 - 1
      #   @return [Array(Integer, (String, nil))] the {#size}, and the value at the position, both seen at one moment

      # @!method answer_at(request, status, headers, position, size)
      #   Answers a request with the value at a position, as {#at} finds it and `request.respond` would send it, if the table has exactly
      #   that size. A position that was drawn below the size was drawn fairly then. The value goes from the store's memory to the answer
      #   without a String between.
      #   @param request [Elah::Request] or whatever else has its `respond`
      #   @param status [Integer] 200 to 599
      #   @param headers [Elah::HeaderSet, Hash{String=>String}]
      #   @param position [Integer] 0 to 2**64 - 1
      #   @param size [Integer] 0 to 2**64 - 1
      #   @return what `request.respond` returns; nil, and there is no answer, when there is no value or the size is another

      # Stores a value, whether or not the key has one.
      #
      # @param key [String]
      # @param value [String]
      # @param ttl [Numeric, nil] the seconds after which it expires; nil is never
      # @return [true] once it is on disk
      # @raise [InvalidKey, TooLarge, Full, Failed, Busy, Closed]
      def put(key, value, ttl: nil) = put_native(key, value, ttl && Store.milliseconds(ttl), false)

      # Stores a value unless the key has one already. Of several that try at once, one succeeds.
      #
      # @param (see #put)
      # @return [Boolean] whether it was stored
      # @raise (see #put)
      def put_new(key, value, ttl: nil) = put_native(key, value, ttl && Store.milliseconds(ttl), true)

      # @!method delete(key)
      #   @param key [String]
      #   @return [Boolean] whether there was a value, once its end is on disk
      #   @raise [InvalidKey, Full, Failed, Busy, Closed]

      # Entries in the order of their keys' bytes. All conditions must hold.
      #
      # @param prefix [String, nil] keys that start with it
      # @param from [String, nil] keys from this one on
      # @param to [String, nil] keys before this one
      # @param after [String, nil] keys that come after this one in the direction of the walk: the last key of the page before
      # @param limit [Integer] at most so many
      # @param reverse [Boolean] from the last key to the first
      # @return [Array<Array(String, String)>] keys and values
      # @raise [InvalidKey] when one of the keys is too long
      def range(prefix: nil, from: nil, to: nil, after: nil, limit: LIMIT, reverse: false)
        range_native([prefix, from, to, after], limit, reverse)
      end

      # Every entry of a range, read page by page: a write in between shows if it lies ahead.
      #
      # @param batch [Integer] entries that are read at once
      # @param conditions [Hash] `prefix`, `from`, `to`, `after` and `reverse` as in {#range}
      # @yieldparam key [String]
      # @yieldparam value [String]
      # @return [void]
      def each(batch: LIMIT, **conditions)
        return enum_for(:each, batch: batch, **conditions) unless block_given?

        loop do
          entries = range(limit: batch, **conditions)
          entries.each { |key, value| yield key, value }
          break if entries.size < batch

          conditions[:after] = entries.last.first
        end
      end

      private :put_native, :range_native
    end

    # @api private
    # @param seconds [Numeric] of a `ttl:`
    # @return [Integer]
    def self.milliseconds(seconds)
      raise ArgumentError, "ttl: must be more than 0 seconds, not #{seconds.inspect}" unless seconds.positive?

      (seconds * 1000).ceil
    end
  end
end

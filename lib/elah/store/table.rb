# frozen_string_literal: true

module Elah
  class Store
    # Ordered keys with values. Keys are Strings of 1 to 480 bytes, values of up to 64 MiB; both are returned as binary Strings.
    class Table
      include Interface::Table

      # Default limit of {#range} and default batch of {#each}.
      LIMIT = 1000

      # @!method name
      #   @return [String]

      # @!method get(key)
      #   Reads at once, without suspending.
      #   @param key [String]
      #   @return [String, nil] the value; nil if it is missing or expired
      #   @raise [InvalidKey]

      # @!method size
      #   @return [Integer] the number of entries, including those that have expired and were not swept yet

      # @!method at(position)
      #   Reads at once, without suspending. For tables whose keys are the positions 0 to {#size} - 1, as 8 bytes, the highest first
      #   (`[position].pack("Q>")`): a position that is drawn at random below the size is an entry drawn at random.
      #   @param position [Integer] 0 to 2**64 - 1
      #   @return [Array(Integer, (String, nil))] the {#size}, and the value at the position, both seen at one moment

      # @!method respond_at(request, status, headers, position, size)
      #   Responds to a request with the value at a position, if the table has exactly that size. It finds the value as {#at} does, and sends it as
      #   `request.respond` would. A position that was drawn below this size was drawn fairly. The value is copied to the response without a String
      #   in between.
      #   @param request [Elah::Request, #respond]
      #   @param status [Integer] 200 to 599
      #   @param headers [Elah::HeaderSet, Hash{String=>String, Array<String>}]
      #   @param position [Integer] 0 to 2**64 - 1
      #   @param size [Integer] 0 to 2**64 - 1
      #   @return [Object, nil] what `request.respond` returns; nil, without a response, when there is no value or the size differs

      # @!method delete(key)
      #   @param key [String]
      #   @return [Boolean] whether there was a value, once the deletion is on disk
      #   @raise [InvalidKey, Full, Failed, Busy, Closed]

      alias write_entry put_native
      alias read_range range_native
      private :put_native, :range_native, :write_entry, :read_range
    end

    # Maximum of `ttl:`, in seconds: a thousand years.
    TTL_SECONDS_MAX = 1000 * 365 * 86_400
    LIMIT_MAX = (2**63) - 1
    private_constant :LIMIT_MAX

    # @api private
    # @param seconds [Numeric] value of a `ttl:`
    # @return [Integer]
    # @raise [ArgumentError]
    def self.milliseconds(seconds)
      unless seconds.is_a?(Numeric) && seconds.real? && seconds.positive? && seconds <= TTL_SECONDS_MAX
        raise ArgumentError, "ttl: must be more than 0 and at most #{TTL_SECONDS_MAX} seconds, not #{seconds.inspect}"
      end

      (seconds * 1000).ceil
    end

    # @api private
    # @param limit [Integer] number of entries to read
    # @param name [String] of the argument
    # @return [Integer]
    # @raise [ArgumentError]
    def self.limit(limit, name: "limit", least: 0, most: LIMIT_MAX)
      return limit if limit.is_a?(Integer) && limit.between?(least, most)

      raise ArgumentError, "#{name}: must be an Integer from #{least} to #{most}, not #{limit.inspect}"
    end
  end
end

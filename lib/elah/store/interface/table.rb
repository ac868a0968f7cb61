# frozen_string_literal: true

require_relative "pages"

module Elah
  class Store
    module Interface
      # The calls of a table that are the same in a folder and on a cluster. A class that includes it has `read_range(conditions, limit, is_reverse)`
      # and `write_entry(key, value, ttl_ms, only_new)`.
      module Table
        include Pages

        # Stores a value, whether or not the key has one.
        #
        # @param key [String]
        # @param value [String]
        # @param ttl [Numeric, nil] seconds after which it expires; nil never expires it
        # @return [true] once it is on disk
        # @raise [InvalidKey, TooLarge, Full, Failed, Busy, Closed]
        def put(key, value, ttl: nil) = write_entry(key, value, ttl && Store.milliseconds(ttl), false)

        # Stores a value unless the key has one already. Of several concurrent calls one succeeds.
        #
        # @param (see #put)
        # @return [Boolean] whether it was stored
        # @raise (see #put)
        def put_new(key, value, ttl: nil) = write_entry(key, value, ttl && Store.milliseconds(ttl), true)

        # Entries in the order of their keys' bytes. All conditions must hold.
        #
        # @param prefix [String, nil] keys that start with it
        # @param from [String, nil] keys from this one on
        # @param to [String, nil] keys before this one
        # @param after [String, nil] keys after this one, in the direction of the walk: the last key of the previous page
        # @param limit [Integer] maximum number of entries, from 0 to 2^63 - 1
        # @param reverse [Boolean] from the last key to the first
        # @return [Array<Array(String, String)>] keys and values
        # @raise [InvalidKey] when one of the keys is too long
        # @raise [ArgumentError] when the limit is invalid
        def range(prefix: nil, from: nil, to: nil, after: nil, limit: Store::Table::LIMIT, reverse: false)
          read_range([prefix, from, to, after], Store.limit(limit), reverse)
        end
      end
    end
  end
end

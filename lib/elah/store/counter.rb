# frozen_string_literal: true

module Elah
  class Store
    # Signed 64-bit integers under keys. A key that was never counted has the value 0.
    class Counter
      # @!method name
      #   @return [String]

      # @!method durability
      #   @return [Symbol] default durability of {#increment}

      # @!method get(key)
      #   The stored value plus the increments of this process in memory. Reads at once, without suspending.
      #   @param key [String]
      #   @return [Integer]
      #   @raise [InvalidKey]

      # @!method increment(key, by: 1, max: nil, durability: self.durability)
      #   Adds to a key.
      #
      #   `:disk` returns when the new value is on disk, and is exact among all processes.
      #
      #   `:memory` returns at once. The increment survives the end of the process (also `kill -9`), but not a failure of the machine, which may
      #   lose the last `fold_seconds`. Other processes see it when it is folded into the store, after about `fold_seconds`. The result is the value
      #   as this process knows it.
      #   @param key [String]
      #   @param by [Integer] may be negative
      #   @param max [Integer, nil] the value that the sum must not pass. Only the disk can tell, so a `max` is decided there
      #     whatever the counter's durability; with `durability: :memory` it is an ArgumentError.
      #   @param durability [Symbol] `:disk` or `:memory`
      #   @return [Integer, nil] the new value; nil when it would have passed `max`, and nothing was added
      #   @raise [InvalidKey, Overflow, Full, Failed, Busy, Closed]

      # @!method delete(key)
      #   Sets a key back to 0.
      #   @param key [String]
      #   @return [Boolean] whether it had a value, once the deletion is on disk
      #   @raise [InvalidKey, Full, Failed, Busy, Closed]
    end
  end
end

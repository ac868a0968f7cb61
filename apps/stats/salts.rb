# frozen_string_literal: true

require "securerandom"
require_relative "clock"

module Stats
  # The daily secret for visitor IDs. All workers share it through the store. It is deleted two days later, and from then on
  # nobody can link an ID to a visitor.
  class Salts
    DAY_SECONDS = 86_400
    KEPT_SECONDS = 2 * DAY_SECONDS
    BYTES = 32

    # @param store [Elah::Store]
    # @param clock [#call] seconds since 1970
    def initialize(store, clock: Clock)
      @table = store.table("salts")
      @clock = clock
      @salts = {}
    end

    # @return [Integer] days since 1970
    def day = @clock.call / DAY_SECONDS

    # @param day [Integer]
    # @return [String, nil] nil for a day whose salt was deleted, or in the future
    def of(day)
      @salts.shift while @salts.size > 2
      @salts[day] ||= @table.get(key(day)) || (day == self.day ? make(day) : nil)
    end

    private

    # If several workers create one at once, the first wins.
    def make(day)
      @table.put_new(key(day), SecureRandom.hex(BYTES), ttl: KEPT_SECONDS)
      @table.get(key(day))
    end

    def key(day) = [day].pack("N")
  end
end

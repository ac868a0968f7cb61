# frozen_string_literal: true

module Elah
  class Store
    # A clock that stops until it is moved, so that tests of expiry need not wait.
    #
    # @example
    #   clock = Elah::Store::Clock.new
    #   store = Elah::Store.open(dir, clock: clock)
    #   store.table("sessions").put("a", "1", ttl: 60)
    #   clock.advance(60)
    #   store.table("sessions").get("a") # => nil
    class Clock
      class << self
        # @param time [Time] its initial time
        # @return [Clock]
        def new(time = Time.now) = new_native((time.to_r * 1000).to_i)

        # @return [Time] of the machine's clock
        # @api private
        def machine_time = Time.now

        private :new_native
      end

      # @param seconds [Numeric] how far to move; not negative
      # @return [void]
      def advance(seconds) = advance_native((seconds * 1000).round)

      # @return [Time] its current time
      def now = Time.at(0, now_ms, :millisecond)

      private :now_ms, :advance_native
    end
  end
end

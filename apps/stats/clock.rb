# frozen_string_literal: true

module Stats
  # The wall clock in whole seconds, the cheapest form.
  module Clock
    # @return [Integer] seconds since 1970
    def self.call = Process.clock_gettime(Process::CLOCK_REALTIME, :second)
  end
end

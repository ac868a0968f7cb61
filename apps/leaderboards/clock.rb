# frozen_string_literal: true

module Leaderboards
  # The wall clock of seasons and expiries. Tests replace it.
  class Clock
    # @return [Integer] seconds since 1970
    def now = Process.clock_gettime(Process::CLOCK_REALTIME, :second)
  end
end

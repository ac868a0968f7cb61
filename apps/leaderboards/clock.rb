# frozen_string_literal: true

module Leaderboards
  # Owns the time of day by which seasons change and things expire. A test puts another in its place.
  class Clock
    # @return [Integer] seconds since 1970
    def now = Process.clock_gettime(Process::CLOCK_REALTIME, :second)
  end
end

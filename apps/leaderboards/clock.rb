# frozen_string_literal: true

module Leaderboards
  # The clock of seasons and expiries: the machine's, or that of a store which several machines share. Tests replace it.
  class Clock
    # @param shared [Elah::Store, nil] the store of several machines
    def initialize(shared = nil)
      @shared = shared
    end

    # @return [Integer] seconds since 1970
    def now = @shared ? @shared.now.to_i : Process.clock_gettime(Process::CLOCK_REALTIME, :second)
  end
end

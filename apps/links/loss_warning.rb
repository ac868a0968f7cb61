# frozen_string_literal: true

module Links
  # Logs that visits are redirected without being counted, once in a while.
  class LossWarning
    PAUSE_SECONDS = 60

    def initialize = @told_at = nil

    # @param error [Exception] why
    def tell(error)
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      return if @told_at && now - @told_at < PAUSE_SECONDS

      @told_at = now
      Elah::Log.current.warn("Visits are redirected and not counted: #{error.message}")
    end
  end
end

# frozen_string_literal: true

module Stats
  # Owns the balance between taking events and working on them. While requests come in quickly, the late half gets a small share of the time;
  # what waits lies in the journal. It gets all that it wants when there is a lull, and when the journal fills.
  class Quiet
    # Events per second from which on this process counts as busy.
    BUSY = 1_000
    # How long the late half rests after each second that it has worked, while requests come in quickly.
    REST_SECONDS = 9
    # A rest is no longer than this, so that an attempt is never given up for it.
    REST_SECONDS_MAX = 1.0
    # The part of the journal that may wait.
    BACKLOG = 0.5

    # @param pulse [Pulse]
    # @param pause [#call] waits so many seconds
    # @yieldreturn [Float] which part of the journal is full
    def initialize(pulse, pause: Kernel.method(:sleep), &backlog)
      @pulse = pulse
      @pause = pause
      @backlog = backlog
      @worked = 0.0
    end

    # Runs the block when it is its turn.
    def take_turn
      @pause.call([@worked * REST_SECONDS, REST_SECONDS_MAX].min) if @worked.positive? && @pulse.rate(1) > BUSY && @backlog.call < BACKLOG
      started_at = now
      yield
    ensure
      @worked = started_at ? now - started_at : 0.0
    end

    private

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end

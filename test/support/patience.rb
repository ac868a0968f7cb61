# frozen_string_literal: true

# Owns what tests need that wait for somebody else: to ask until it is so, to try until a server is back, and to see how
# long it took. Nothing here sleeps; the questions themselves take the time.
module Patience
  # How long it may take, in seconds; a test that needs longer says so by a method of its own.
  def patience_seconds = 60

  # Asks until the block says yes.
  #
  # @param what [String] what is waited for, as in "nothing sleeps"
  # @raise [Minitest::Assertion] when it does not come to that
  def wait_until(what = "it is so")
    give_up_at = monotonic + patience_seconds
    until yield
      raise Minitest::Assertion, "Waited #{patience_seconds} s until #{what}." if monotonic > give_up_at

      Thread.pass
    end
  end

  # Tries again while the server is said to be unavailable.
  #
  # @return [Object] the block's value
  # @raise [Elah::Unavailable] when it stays so
  def once_available
    give_up_at = monotonic + patience_seconds
    begin
      yield
    rescue Elah::Unavailable
      raise if monotonic > give_up_at

      Thread.pass
      retry
    end
  end

  # Tries again while the server is unavailable or does not reply.
  #
  # @return [Object] the block's value
  # @raise [Elah::Unavailable] when it stays so
  def in_the_end
    once_available do
      yield
    rescue Elah::QueryTimeout => e
      raise Elah::Unavailable, e.message
    end
  end

  # Runs the block until it was quick once: a busy machine may spoil some rounds, and what waits one after the other
  # spoils all.
  #
  # @param seconds [Numeric] below which it is quick
  # @return [Float] seconds of the quick one
  # @raise [Minitest::Assertion] when none was
  def assert_quick(seconds, rounds: 20, &block)
    quickest = Float::INFINITY
    rounds.times { (quickest = [quickest, measure(&block)].min) < seconds and return quickest }
    flunk "The quickest of #{rounds} rounds took #{quickest.round(3)} s, and should take less than #{seconds} s."
  end

  # @return [Float] seconds that the block took
  def measure
    started_at = monotonic
    yield
    monotonic - started_at
  end

  # @return [Float] seconds
  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

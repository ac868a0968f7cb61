# frozen_string_literal: true

module Elah
  # A thread that notices signals for the loop. Until Ruby 3.3 only a thread that sleeps inside Ruby passes a signal to the main thread, and
  # the loop waits outside Ruby. When that thread exits, another one notices signals only after it falls asleep again.
  module SignalListener
    # The longest that a signal may go unnoticed.
    SECONDS = 0.5

    # @return [Thread] to kill after the loop
    def self.start = Thread.new { loop { sleep SECONDS } }
  end
end

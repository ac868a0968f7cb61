# frozen_string_literal: true

module Elah
  # Until Ruby 3.3 it is one of the threads asleep in Ruby that notices a signal and hands it to the main thread; a loop waits outside
  # Ruby. When that thread ends, no other takes the office over before it falls asleep anew.
  module SignalListener
    # The longest that a signal may go unnoticed.
    SECONDS = 0.5

    # @return [Thread] to kill when the loop has ended
    def self.start = Thread.new { loop { sleep SECONDS } }
  end
end

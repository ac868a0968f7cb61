# frozen_string_literal: true

module Elah
  # A thread that logs the current Ruby line when a handler blocks the loop. It sleeps without Ruby's global lock until then.
  class StallWatch
    # Logged lines of the backtrace.
    LINES = 8

    # @param event_loop [Elah::EventLoop]
    # @param seconds [Float] how long a handler may block the loop
    # @param log [Elah::Log]
    # @return [Elah::StallWatch]
    def self.start(event_loop, seconds, log) = new(event_loop, seconds, log, Thread.current)

    # @param watched [Thread] the thread of the loop
    def initialize(event_loop, seconds, log, watched)
      @thread = Thread.new do
        Thread.current.name = "elah stall watch"
        loop do
          stalled = event_loop.wait_for_stall(seconds) or next
          log.warn("A handler has blocked the loop for #{(stalled * 1000).round} ms at", place(watched.backtrace || []))
        end
      end
      @thread.report_on_exception = false
    end

    # Ends the thread.
    def stop = @thread.kill.join

    private

    def place(backtrace)
      own = File.join(File.expand_path("..", __dir__), "")
      lines = backtrace.take_while { |line| !line.start_with?(own) || line.include?("/api/") }
      (lines.empty? ? backtrace : lines).first(LINES)
    end
  end
end

# frozen_string_literal: true

require_relative "gem_origin"

module Elah
  # A thread that logs the current Ruby line when a handler blocks the loop. It sleeps without Ruby's global lock until then.
  class StallWatch
    # Logged lines of the backtrace.
    LINES = 8

    # The file and the line in a line of a backtrace.
    PLACE = /\A(?<path>.+?):\d+/

    # Where the loop waits when no handler runs.
    WAITING = /event_loop\.rb:\d+:in .*iterate/
    private_constant :PLACE, :WAITING

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
          warn(log, (stalled * 1000).round, watched.backtrace.to_a.map { |line| Text.utf8(line) })
        end
      end
      @thread.report_on_exception = false
    end

    # Ends the thread.
    def stop = @thread.kill.join

    private

    # Ruby 3.3 and later may let this thread run only when a handler that stood in native code has ended.
    def warn(log, milliseconds, backtrace)
      if backtrace.first&.match?(WAITING)
        return log.warn("A handler blocked the loop for more than #{milliseconds} ms and has ended. Native code kept Ruby's lock, so the line is " \
                        "not known; `elah doctor` names gems that do so")
      end

      lines = place(backtrace)
      log.warn("A handler has blocked the loop for #{milliseconds} ms#{culprit(lines)} at", lines.first(LINES))
    rescue StandardError => e
      # The next stall is another one, and #stop would raise this in the place of the worker's own exit.
      log.exception(e, "A handler has blocked the loop for #{milliseconds} ms; its line cannot be named")
    end

    def place(backtrace)
      own = Text.utf8(File.join(File.expand_path("..", __dir__), ""))
      lines = backtrace.take_while { |line| !line.start_with?(own) || line.include?("/api/") }
      lines.empty? ? backtrace : lines
    end

    # The gem that runs, if it is one, with its innermost line and the app's own, which a long backtrace has further down than it is logged.
    def culprit(lines)
      frames = lines.filter_map { |line| line.match(PLACE) }
      inner = frames.find { |frame| !GemOrigin.ruby?(frame[:path]) } or return
      origin = GemOrigin.of(inner[:path]) or return
      caller_frame = frames.find { |frame| GemOrigin.app?(frame[:path]) }
      " in the gem #{origin} (#{inner})#{", called from #{caller_frame}," if caller_frame}"
    end
  end
end

# frozen_string_literal: true

# An app for the tests of what goes wrong in the loop itself, outside of handlers.
require "timeout"

# As a library adds an attribute to Fiber; this one takes no nil.
class Fiber
  attr_reader :fussy

  def fussy=(value)
    Kernel.raise ArgumentError, "nil is no value" if value.nil? && @fussy

    @fussy = value
  end
end

class LoopFailures < Elah::API
  format :txt

  # As many libraries' errors, they make their own message or need more than one.
  class TooSlow < StandardError
    def initialize = super("the other service is too slow")
  end

  class Coded < StandardError
    def initialize(message, code:) = super("#{message} #{code}")
  end

  class Unraisable < StandardError
    def exception(*) = raise("it cannot be raised")
  end

  NEWS = Elah::Broadcast.new
  WORDS = Thread::Queue.new

  get(:hello) { "hello" }
  get(:timeout) { Timeout.timeout(0.01, TooSlow) { sleep } }
  get(:timeout_coded) { Timeout.timeout(0.01, Coded) { sleep } }
  get(:timeout_text) { Timeout.timeout(0.01, "too slow") { sleep } }
  get(:cancel) { Elah.async { sleep }.cancel(Unraisable.new).value }
  get(:post) { Elah.current_loop.post { raise "a posted block" } || "posted" }
  get(:fussy) { Fiber.current.fussy = "fussy" }

  get(:news) { broadcast NEWS }
  post(:last_news) do
    pushed = false
    Thread.new { NEWS.push("the last") && pushed = true }
    Thread.pass until pushed # without a wait, so that the loop has not turned
    NEWS.close
    "closed"
  end
  post(:news_of_a_thread) { Thread.new { NEWS.push("of a thread") && NEWS.close }.join && "closed" }

  # While the handler, and with it the loop, waits.
  get(:thread_raises) do
    thread = Thread.current
    Thread.new { Thread.pass until thread.stop? && thread.raise("for whoever runs").nil? }.join && "raised"
  end
  get(:thread_aborts) do
    thread = Thread.current
    Thread.new do
      Thread.current.abort_on_exception = true
      Thread.pass until thread.stop?
      raise "the process is to end"
    end.join
  end

  # With more descriptors than the loop watches itself.
  get(:select) do
    Thread.abort_on_exception = true
    pipes = Array.new(40) { IO.pipe }
    pipes.first.first.close
    IO.select(pipes.map(&:first))
  rescue IOError => e
    "rescued #{e.class}"
  ensure
    pipes.flatten.each(&:close)
  end

  # Leaves the process as much address space as it has and a little, or all of it again.
  post("room/:megabytes") do
    bytes = Integer(File.read("/proc/self/status")[/^VmSize:\s+(\d+)/, 1]) * 1024 + params[:megabytes].to_i * 1_000_000
    Process.setrlimit(:AS, bytes, Process.getrlimit(:AS).last)
    ""
  end
  delete(:room) { Process.setrlimit(:AS, Process.getrlimit(:AS).last) && "" }

  get(:wait) { WORDS.pop }
  post(:words) { 100.times { WORDS.push("a word") } }

  get(:spawn) { Array.new(10_000) { Elah.async { sleep } } }
  get(:spawn_rescued) do
    fibers = []
    begin
      fibers << Elah.async { sleep } while fibers.size < 10_000
    rescue Elah::Overloaded => e
      sleep(0.001) # it can wait as before
      fibers.each(&:cancel).each(&:wait)
      "#{fibers.size.positive?} #{e.class}"
    end
  end
  get(:gather) do
    results = Elah.gather(deadline: 0.05) { |g| 500.times { |n| g.call(n, fallback: "none") { sleep } } }
    [results.map(&:outcome).uniq.sort, results.values.uniq, results.filter_map(&:error).map(&:class).uniq].inspect
  end
end

run LoopFailures

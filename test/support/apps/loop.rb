# frozen_string_literal: true

# An app for the tests of the loop: what it does is named by the path.
require "tempfile"
require "timeout"
require "net/http"

class LoopApp < Elah::API
  format :txt

  class << self
    attr_accessor :running, :peak, :cleaned

    def counted
      self.running += 1
      self.peak = [peak, running].max
      yield
    ensure
      self.running -= 1
    end

    # Keeps the loop busy.
    def hog(milliseconds)
      finish_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + milliseconds / 1000.0
      nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish_at # the line that stalls
    end
  end
  self.running = 0
  self.peak = 0
  self.cleaned = []

  get(:hello) { "hello" }
  get("echo/:word") { params[:word] }
  post(:length) { request.body.bytesize.to_s }
  get(:peak) { LoopApp.peak.to_s }
  get(:cleaned) { LoopApp.cleaned.join(",") }
  get("claimed/:length") do
    header "Content-Length", params[:length]
    "hello"
  end
  get("claimed/:length/stream") do
    stream { |out| %w[he ll o].each { |piece| out << piece } }
    header "Content-Length", params[:length]
  end
  get("claimed/:length/raw", raw: true) { request.respond(200, { "content-length" => params["length"] }, "hello") }
  get("claimed/:length/error") { error!("hello", 400, { "Content-Length" => params[:length] }) }
  get("sleep/:ms") do
    LoopApp.counted { sleep(params[:ms].to_i / 1000.0) }
    "slept"
  end

  WORDS = Thread::Queue.new
  get(:wait_for_word) { WORDS.pop && "heard" }
  get(:say_word) { WORDS.push(true) && "said" }

  get(:never) do
    sleep
  ensure
    LoopApp.cleaned << "never"
  end

  get(:raise) { raise "boom" }
  get(:silent, raw: true) { nil }
  get(:throw) { throw :nobody }
  get(:exit) { exit 7 }
  get(:abort) { abort "aborted" }
  get(:absurd) { "x" * (1 << 46) }
  get(:absurd_in_a_fiber) { Elah.async { "x" * (1 << 46) }.value }
  get(:kill) { Thread.current.kill }
  get(:exit_in_a_fiber) { Elah.async { exit 7 }.value }
  get(:interrupt) { raise Interrupt }
  get(:interrupt_in_a_fiber) { Elah.async { raise SignalException, "TERM" }.value }

  # Classes of exceptions whose own methods raise.
  HOSTILE = %w[class_name class_text message backtrace].to_h { |method| [method, Class.new(StandardError)] }.freeze
  HOSTILE["class_name"].define_singleton_method(:name) { raise "no name" }
  HOSTILE["class_text"].define_singleton_method(:to_s) { raise "no text" }
  HOSTILE["message"].define_method(:message) { raise self.class }
  HOSTILE["backtrace"].define_method(:backtrace) { raise "no backtrace" }
  get("hostile/:method") { raise HOSTILE[params[:method]] }
  get("hostile_spawned/:method") { Elah.async { raise HOSTILE[params[:method]] } && "" }

  get(:forges) { raise "one\r\n2026-01-01T00:00:00.000Z INFO  [1] forged\e[31m \0 \u009b \u2028 \xFF ü" }
  get(:overflow) { (deep = -> { deep.call }).call }
  get(:fiber_yield) { Fiber.yield }
  get(:bad_header) { header("X-Bad", "a\r\nSet-Cookie: b") && "never" }

  get("hog/:ms") do
    LoopApp.hog(params[:ms].to_i)
    "hogged"
  end

  get("turn/:ms") do
    LoopApp.hog(params[:ms].to_i)
    Elah.current_loop.counts[:iterations].to_s
  end

  get("stream/:count/:bytes") do
    stream do |out|
      params[:count].to_i.times { out.write("x" * params[:bytes].to_i) }
    ensure
      LoopApp.cleaned << "stream"
    end
  end

  get(:stream_that_breaks) do
    stream do |out|
      out.write("the beginning")
      raise "broken off"
    end
  end

  post(:read_slowly, stream_body: true) do
    sizes = []
    request.each_body_chunk { |chunk| sizes << chunk.bytesize }
    sizes.sum.to_s
  end

  # One fiber for each wait of the standard library that the scheduler serves.
  resource :wait do
    get(:mutex) do
      mutex = Mutex.new
      order = []
      Fiber.schedule { mutex.synchronize { sleep(0.05) && order << 1 } }
      mutex.synchronize { order << 2 }
      order.join
    end

    get(:queue) do
      queue = Thread::Queue.new
      Thread.new { queue << "from a thread" }
      queue.pop
    end

    get(:thread) { Thread.new { "joined" }.value }

    get(:pipe) do
      reader, writer = IO.pipe
      Fiber.schedule { sleep(0.02) && writer.write("piped") && writer.close }
      reader.read
    end

    get(:enumerator) do
      words = Enumerator.new { |yielder| %w[a b].each { |word| sleep(0.01) && yielder << word } }
      words.next + words.next
    end

    get(:timeout) do
      Timeout.timeout(0.05) { sleep }
    rescue Timeout::Error
      "timed out"
    end
  end
end

run LoopApp

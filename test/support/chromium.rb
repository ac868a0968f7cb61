# frozen_string_literal: true

require "fileutils"
require "io/nonblock"
require "io/wait"
require "json"
require "tmpdir"

# Owns a headless Chromium that a test drives over the DevTools protocol, through a pipe. It has one page.
class Chromium
  PROGRAM = "chromium"
  FLAGS = %w[--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking
             --disable-component-update --no-first-run --hide-scrollbars --remote-debugging-pipe].freeze
  SECONDS = 60

  # Raised when it says nothing for too long, ends, or a script in the page fails.
  class Failure < StandardError; end

  # @return [Array<String>] what the page has complained of: errors of scripts, and what its policy has refused
  attr_reader :complaints

  # @yieldparam browser [Chromium] ended after the block
  def self.open
    browser = new
    yield browser
  ensure
    browser&.close
  end

  def initialize
    @profile = Dir.mktmpdir("elah-chromium")
    from_us, @input = IO.pipe
    @output, to_us = IO.pipe
    [from_us, to_us].each { |pipe| pipe.nonblock = false } # it takes "nothing to read yet" for the end
    @pid = Process.spawn({ "HOME" => @profile }, PROGRAM, *FLAGS, "--user-data-dir=#{@profile}", "about:blank",
                         3 => from_us, 4 => to_us, in: File::NULL, out: File::NULL, err: File::NULL, pgroup: true)
    [from_us, to_us].each(&:close)
    @buffer = +""
    @number = 0
    @complaints = []
    attach
  end

  # Opens a page at a size.
  #
  # @param url [String]
  # @param width [Integer] CSS pixels
  # @param dark [Boolean] whether the system's colours are dark
  def visit(url, width: 1200, height: 900, dark: false)
    call("Emulation.setDeviceMetricsOverride", width: width, height: height, deviceScaleFactor: 1, mobile: width < 600)
    call("Emulation.setEmulatedMedia", features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }])
    call("Page.navigate", url: url)
  end

  # @param script [String] an expression of JavaScript
  # @return [Object] its value
  # @raise [Failure] when it throws
  def evaluate(script)
    answer = call("Runtime.evaluate", expression: script, returnByValue: true)
    raise Failure, answer.dig("exceptionDetails", "exception", "description") if answer["exceptionDetails"]

    answer.dig("result", "value")
  end

  # @return [String] of an element
  def text(id) = evaluate("(document.getElementById(#{JSON.generate(id)}) || {}).textContent || ''")

  # @return [String] a PNG of the whole page
  def screenshot = call("Page.captureScreenshot", format: "png", captureBeyondViewport: true)["data"].unpack1("m")

  def close
    Process.kill(:KILL, -@pid)
    Process.wait(@pid)
    [@input, @output].each(&:close)
    FileUtils.rm_rf(@profile)
  end

  private

  def attach
    target = call("Target.createTarget", url: "about:blank")["targetId"]
    @session = call("Target.attachToTarget", targetId: target, flatten: true)["sessionId"]
    %w[Page Runtime Log].each { |domain| call("#{domain}.enable") }
  end

  def call(method, **params)
    number = @number += 1
    @input.write(JSON.generate({ id: number, method: method, params: params, sessionId: @session }.compact), "\0")
    loop do
      message = read
      note(message)
      next unless message["id"] == number
      raise Failure, "#{method}: #{message['error']['message']}" if message["error"]

      return message["result"]
    end
  end

  def read
    until (line = @buffer.slice!(/\A[^\0]*\0/))
      @output.wait_readable(SECONDS) or raise Failure, "Chromium says nothing."
      @buffer << @output.readpartial(1 << 20)
    end
    JSON.parse(line.delete_suffix("\0").force_encoding(Encoding::UTF_8))
  rescue EOFError
    raise Failure, "Chromium has ended."
  end

  def note(message)
    case message["method"]
    when "Runtime.exceptionThrown"
      @complaints << message.dig("params", "exceptionDetails", "exception", "description")
    when "Log.entryAdded"
      entry = message.dig("params", "entry")
      @complaints << entry["text"] if entry["level"] == "error"
    end
  end
end

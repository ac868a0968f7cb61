# frozen_string_literal: true

# Connections that the app takes over, before the answer and after its head, each under a path of its own.
use Rack::Lint if ENV["LINT"]

TEXT = { "content-type" => "text/plain" }.freeze

# Two lines of one header, as this Rack writes them.
TWO_LINES = Rack.release < "3" ? "1\n2" : %w[1 2]

# What takes over before the answer is called with the connection and the environment.
BEFORE = {
  "/full" => ->(io, _) { io.write("HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nraw"); io.close },
  "/io" => lambda { |io, env|
    same = io.equal?(env["rack.hijack_io"]) && io.equal?(env["rack.hijack"].call)
    io.write("#{io.class} #{io.fileno.class} #{io.is_a?(IO)} #{same} #{io.sync} #{io.respond_to?(:peeraddr)}")
    io.close
  },
  "/echo_line" => ->(io, _) { 2.times { io.write("line #{io.gets}") }; io.close },
  "/readpartial" => ->(io, _) { io.write("#{io.read_nonblock(5)}|#{io.readpartial(100)}"); io.close },
  "/kept" => ->(io, _) { Thread.new { io.write("from a thread: #{io.gets}"); io.close } },
  "/spawned" => ->(io, _) { Fiber.schedule { io.write("from a fiber: #{io.gets}"); io.close } },
  "/held" => ->(io, _) { io.write("held"); io.read },
  "/raises" => ->(io, _) { io.write("half"); raise "after the take-over" }
}.freeze

ECHO = ->(io) { io.write("echo #{io.gets}"); io.close }

AFTER = {
  "/partial" => [200, TEXT.merge("x-lines" => TWO_LINES,
                                 "rack.hijack" => ->(io) { io.write("partial #{io.class}"); io.close }), ["ignored"]],
  "/partial_upgrade" => [101, { "connection" => "Upgrade", "upgrade" => "echo", "rack.hijack" => ECHO }, []],
  "/streaming_upgrade" => [101, { "connection" => "upgrade", "upgrade" => "echo" }, ECHO],
  "/partial_raises" => [200, TEXT.merge("rack.hijack" => ->(io) { io.write("part"); raise "in the callback" }), []],
  "/partial_header" => [200, TEXT.merge("x-evil" => "a\r\nb", "rack.hijack" => ->(io) { io.close }), []],
  "/left" => [200, TEXT, ["ignored"]],
  "/plain" => [200, TEXT, ["plain"]]
}.freeze

run lambda { |env|
  path = env["PATH_INFO"]
  next [200, TEXT.dup, [Dir.children("/proc/self/fd").size.to_s]] if path == "/open_files"

  Elah.async { env["rack.hijack"].call } if path == "/left" # which ends with its request
  sleep if path == "/sleeps"
  next AFTER.fetch(path).then { |status, headers, body| [status, headers.dup, body] } unless BEFORE.key?(path)

  BEFORE[path].call(env["rack.hijack"].call, env)
  [500, TEXT.dup, ["ignored"]]
}

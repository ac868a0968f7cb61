# frozen_string_literal: true

# Connections that the app takes over, before the answer and after its head.
use Rack::Lint if ENV["LINT"]

run lambda { |env|
  case env["PATH_INFO"]
  when "/full"
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nraw")
    io.close
    [500, { "Content-Type" => "text/plain" }, ["ignored"]]
  when "/io"
    io = env["rack.hijack"].call
    same = io.equal?(env["rack.hijack_io"]) && io.equal?(env["rack.hijack"].call)
    io.write("#{io.class} #{io.fileno.class} #{io.is_a?(IO)} #{same} #{io.sync} #{io.respond_to?(:peeraddr)}")
    io.close
  when "/echo_line"
    io = env["rack.hijack_io"] || (env["rack.hijack"].call && env["rack.hijack_io"])
    2.times { io.write("line #{io.gets}") }
    io.close
  when "/readpartial"
    io = env["rack.hijack"].call
    io.write("#{io.read_nonblock(5)}|#{io.readpartial(100)}")
    io.close
  when "/kept"
    io = env["rack.hijack"].call
    Thread.new { io.write("from a thread: #{io.gets}"); io.close }
  when "/spawned"
    io = env["rack.hijack"].call
    Fiber.schedule { io.write("from a fiber: #{io.gets}"); io.close }
  when "/held"
    io = env["rack.hijack"].call
    io.write("held")
    io.read
  when "/raises"
    env["rack.hijack"].call.write("half")
    raise "after the take-over"
  when "/partial"
    callback = lambda do |io|
      io.write("partial #{io.class}")
      io.close
    end
    [200, { "Content-Type" => "text/plain", "X-Lines" => "1\n2", "rack.hijack" => callback }, ["ignored"]]
  when "/partial_upgrade"
    callback = ->(io) { io.write("echo #{io.gets}"); io.close }
    [101, { "Connection" => "Upgrade", "Upgrade" => "echo", "rack.hijack" => callback }, []]
  when "/streaming_upgrade"
    [101, { "connection" => "upgrade", "upgrade" => "echo" }, ->(io) { io.write("echo #{io.gets}"); io.close }]
  when "/partial_raises"
    [200, { "Content-Type" => "text/plain", "rack.hijack" => ->(io) { io.write("part"); raise "in the callback" } }, []]
  when "/partial_header"
    [200, { "Content-Type" => "text/plain", "X-Evil" => "a\r\nb", "rack.hijack" => ->(io) { io.close } }, []]
  when "/sleeps"
    sleep
  else
    [200, { "Content-Type" => "text/plain" }, ["plain"]]
  end
}

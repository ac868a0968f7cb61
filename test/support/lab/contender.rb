# frozen_string_literal: true

# A small HTTP server in the lab's tests that behaves as its second argument says: `ruby contender.rb PORT MODE
# [PIDS_FILE]`.
require "socket"

port, mode, pids_file = ARGV
CRASH_AFTER = 50
LEAK_BYTES = 20_000

File.open(pids_file, "a") { |file| file.puts(Process.pid) } if pids_file
abort "this server cannot start" if mode == "mute"
trap("TERM") { nil } if mode == "stubborn"
wait_for_ever = -> { IO.pipe.then { |reader, _writer| reader.read } }
wait_for_ever.call if mode == "late" # never listens
if mode == "daemon" # lets go a process of a session of its own
  Process.wait(fork do
    Process.setsid
    fork do
      File.open(pids_file, "a") { |file| file.puts(Process.pid) }
      wait_for_ever.call
    end
  end)
end

body = mode == "wrong" ? "hello w0rld" : "hello world"
answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: #{body.bytesize}\r\n\r\n#{body}"
refusal = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"
count = 0
kept = []

listener = TCPServer.new("127.0.0.1", Integer(port))
loop do
  Thread.new(listener.accept) do |socket|
    while (line = socket.gets)
      next unless line == "\r\n"

      count += 1
      exit!(7) if mode == "crash" && count > CRASH_AFTER
      kept << "x" * LEAK_BYTES if mode == "leak"
      socket.write(mode == "failing" && count > CRASH_AFTER && count.odd? ? refusal : answer)
    end
  rescue SystemCallError
    nil # the client has gone
  end
end

# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# A log that cannot be written costs its lines. It ended the worker with the first line: a full disk of logs was a
# server that is down.
class LogFailureTest < Minitest::Test
  APP = <<~'RUBY'
    class App < Elah::API
      format :txt
      get(:hello) { "hello" }
      get(:raise) { raise "boom" }
      get(:raise_long) { raise "boom" * 500 }
      get(:breaks) { $stderr.reopen("/dev/full", "w") && "broken" }
      get(:breaks_pipe) do
        reader, writer = IO.pipe
        reader.close
        KEPT = $stderr.dup
        $stderr.reopen(writer) && "broken"
      end
      get(:stalls) do
        READER, writer = IO.pipe
        KEPT = $stderr.dup
        $stderr.reopen(writer) && "broken"
      end
      get(:log) { READER.read_nonblock(1 << 20).scrub }
      get(:mends) { $stderr.reopen(KEPT) && "whole" }
    end

    run App
  RUBY

  def test_requests_are_answered_while_nobody_reads_the_log
    ElahServer.start(APP, log_requests: true) do |server|
      assert_equal "broken", server.get("/breaks_pipe").body
      assert_equal [500, 500], Array.new(2) { server.get("/raise").status }
      assert_equal "hello", server.get("/hello").body
      server.get("/mends")
      failure = /^\S+ WARN  \[#{server.pid}\] 6 messages could not be written here: Broken pipe.*$/
      server.wait_for(/#{failure}\n\S+ INFO .*GET \/mends 200/)
    end
  end

  # The write of the first line that did not fit stopped the worker, and the supervisor with its next line.
  def test_requests_are_answered_while_the_reader_of_the_log_stands_still
    ElahServer.start(APP, log_requests: true) do |server|
      server.get("/stalls")
      assert_equal [500], Array.new(60) { server.get("/raise_long").status }.uniq
      assert_equal "hello", server.get("/hello").body
      assert_match(/boomboom/, server.get("/log").body)
      lost = /^\S+ WARN .* \d+ messages could not be written here: its reader does not read\n\S+ INFO .*GET \/log /
      assert_match(lost, server.get("/log").body)
      server.get("/mends")
    end
  end

  def test_requests_are_answered_while_the_disk_of_the_log_is_full
    ElahServer.start(APP, log_requests: true) do |server|
      server.get("/breaks")
      assert_equal [500, 500], Array.new(2) { server.get("/raise").status }
      assert_equal "hello", server.get("/hello").body
    end
  end
end

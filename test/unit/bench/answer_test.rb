# frozen_string_literal: true

require_relative "../../test_helper"
require "socket"
require_relative "../../../bench/lib/answer"

class AnswerTest < Minitest::Test
  def test_two_answers_that_differ_in_their_moment_alone_are_equal
    assert_equal fetch("Date: Fri, 20 Nov 2026 22:06:05 GMT").comparable,
                 fetch("date: Sat, 21 Nov 2026 22:06:05 GMT").comparable
  end

  def test_another_body_or_another_header_makes_a_difference
    refute_equal fetch("A: 1").comparable, fetch("A: 2").comparable
    refute_equal fetch("A: 1", "hello").comparable, fetch("A: 1", "hullo").comparable
    refute_equal fetch("A: 1").comparable, fetch("B: 1").comparable
  end

  private

  # Fetches from a server that answers one request.
  def fetch(header, body = "hello")
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      socket = server.accept
      nil until socket.gets == "\r\n"
      socket.write("HTTP/1.1 200 OK\r\n#{header}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
      socket.close
    end
    Bench::Answer.fetch(server.addr[1], "/")
  ensure
    thread&.join
    server&.close
  end
end

# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# What happens when an answer ends: the body is closed once, and the callables of rack.response_finished run.
class RackBodyEndTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/rack_responses.ru", __dir__)

  @server = ElahServer.start(APP, request_seconds: 2)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_bodies_are_closed_once
    %w[each each_sized each_nothing each_long to_ary call file file_part file_missing fails_at_once
       header_name deadline].each do |form|
      before = closes(form)
      get(form)
      assert_equal before + 1, closes(form), form
    end
  end

  def test_bodies_are_closed_once_after_head
    %w[each each_sized call file to_ary].each do |form|
      before = closes(form)
      server.request("HEAD", "/#{form}")
      assert_equal before + 1, closes(form), form
    end
  end

  def test_a_body_that_fails_later_is_closed_once
    %w[fails_later call_fails].each do |form|
      server.connect do |client|
        client.write("GET /#{form} HTTP/1.1\r\nHost: a\r\n\r\n").read_head
        get("go_on")
        client.read_to_end
      end
      assert_equal 1, closes(form), form
    end
  end

  def test_bodies_whose_clients_have_gone_are_closed_once
    %w[endless call_endless].each do |form|
      5.times do
        server.connect { |client| client.write("GET /#{form} HTTP/1.1\r\nHost: a\r\n\r\n").read_head }
      end
      wait_until { closes(form) == 5 }
      refute_match(/GET \/#{form} failed/, server.log, "that a client goes is no failure")
    end
  end

  # It got IOError, which `rescue Errno::EPIPE` does not take, and the log a backtrace for each client that left.
  def test_a_body_that_continues_in_a_fiber_learns_that_its_client_has_gone
    server.connect do |client|
      client.write("GET /call_continued HTTP/1.1\r\nHost: a\r\n\r\n").read_head
      client.socket.setsockopt(Socket::Option.linger(true, 0))
    end
    wait_until { closes("call_continued") == 1 }
    get("go_on")
    wait_until { finished("call_continued").any? }
    assert_equal ["Errno::EPIPE"], finished("call_continued")
    refute_match(/A spawned fiber failed/, server.log)
  end

  def test_callables_run_in_reverse_order_once_the_answer_is_sent
    assert_equal "f", get("finished").body
    headers = { "Content-Type" => "text/plain" }
    wait_until { finished("finished").size == 2 }
    assert_equal [[1, "/finished", 200, headers, "NilClass", 1], [0, "/finished", 200, headers, "NilClass", 1]],
                 finished("finished")
  end

  def test_callables_wait_for_the_client
    %w[finished_late finished_array finished_call].each do |form|
      server.connect do |client|
        before = finished(form)
        client.write("GET /#{form} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").read_head
        assert_equal before, finished(form), "the client has not read it yet"
        client.read_to_end
        wait_until { finished(form) == [*before, "NilClass"] }
      end
    end
  end

  def test_callables_learn_that_the_client_has_gone
    %w[finished_late finished_array finished_call].each do |form|
      before = finished(form).size
      server.connect { |client| client.write("GET /#{form} HTTP/1.1\r\nHost: a\r\n\r\n").read_head }
      wait_until { finished(form)[before] == "Elah::ClientGone" }
    end
  end

  # hyper reads no body beyond its content-length. That was taken for a client that leaves: the rest of the body did
  # not run.
  def test_a_body_that_goes_on_after_its_last_byte_comes_to_its_end
    server.connect do |client|
      assert_equal "sized", client.get("/finished_sized").body
      server.connect do |other|
        other.write("GET /waits HTTP/1.1\r\nHost: a\r\n\r\n").read_head
        other.socket.setsockopt(Socket::Option.linger(true, 0)) # so that the close is a reset
      end
      wait_until("the bodies of clients that have gone are cancelled") { closes("waits") == 1 }
      get("go_on")
      wait_until { finished("finished_sized") == [true, "NilClass"] }
    end
  end

  def test_callables_after_a_file
    assert_equal 300_000, get("finished_file").body.bytesize
    assert_equal 200, server.request("HEAD", "/finished_file").status
    wait_until { finished("finished_file") == [[200, "NilClass"]] * 2 } # that of HEAD got ClientGone
  end

  def test_callables_learn_of_an_exception
    assert_equal 500, get("finished_error").status
    assert_equal [[nil, nil, "no answer"]], finished("finished_error")
  end

  def test_callables_learn_of_the_deadline
    assert_equal 504, get("deadline").status
    wait_until { finished("deadline").include?("Elah::DeadlineExceeded") }
  end

  def test_a_callable_that_raises_harms_nobody
    assert_equal "f", get("finished_raises").body
    wait_until { finished("finished_raises") == ["ran"] }
    server.wait_for(/A callable of rack.response_finished failed: .*in the callable/)
  end

  private

  def server = self.class.server

  def get(form) = server.get("/#{form}")

  def closes(form) = Integer(get("closes/#{form}").body)

  def finished(form) = get("finished/#{form}").json
end

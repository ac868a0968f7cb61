# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# What goes wrong in the loop itself, outside of handlers: in its callbacks, in posted blocks, when it cancels, and when
# the system refuses a fiber. It costs a request at most.
class LoopFailuresTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/loop_failures.rb", __dir__)

  # So that there is room for other things when there is none for a fiber.
  LARGE_STACKS = { "RUBY_FIBER_MACHINE_STACK_SIZE" => "32000000" }.freeze

  def serve(**options)
    ElahServer.start(APP, **options) do |server|
      yield server
      assert_equal "hello", server.get("/hello").body
    end
  end

  { "timeout" => "ArgumentError: wrong number of arguments", "timeout_coded" => "ArgumentError: missing keyword: :code",
    "timeout_text" => "NoMethodError", "cancel" => "RuntimeError: it cannot be raised" }.each do |path, logged|
    define_method(:"test_an_exception_that_cannot_be_made_costs_the_request_alone_#{path}") do
      serve do |server|
        server.connect do |client|
          answer = client.get("/#{path}")
          assert_equal [500, "internal_error"], [answer.status, answer.json["code"]]
          assert_equal "hello", client.get("/hello").body
        end
        server.wait_for(%r{GET /#{path} failed: #{logged}})
      end
    end
  end

  def test_the_loop_outlives_a_posted_block_that_raises
    serve do |server|
      assert_equal "posted", server.get("/post").body
      server.wait_for(/ERROR .*The loop continues after an exception outside of handlers: RuntimeError: a posted block/)
    end
  end

  # As rack-timeout raises: a slow request ended the process.
  def test_the_loop_outlives_what_another_thread_raises
    serve do |server|
      assert_equal "raised", server.get("/thread_raises").body
      server.wait_for(/ERROR .*The loop continues after an exception .*: RuntimeError: for whoever runs/)
    end
  end

  def test_a_thread_with_abort_on_exception_ends_the_process
    server = ElahServer.start(APP)
    client = server.connect
    client.write("GET /thread_aborts HTTP/1.1\r\nHost: a\r\n\r\n")
    refute_predicate server.wait_until_ended, :success?
    assert_match(/the process is to end \(RuntimeError\)/, server.log)
  ensure
    server&.kill
  end

  def test_a_broadcast_that_is_closed_while_another_thread_pushes
    serve do |server|
      server.connect do |listener|
        assert_equal 200, listener.write("GET /news HTTP/1.1\r\nHost: a\r\n\r\n").read_head.status
        assert_equal [201, "closed"], server.request("POST", "/last_news").to_a.values_at(0, 3)
        assert_equal "hello", server.get("/hello").body
      end
      refute_match(/ERROR/, server.log)
    end
  end

  # The thread failed, and the stream went on.
  def test_a_broadcast_that_another_thread_closes
    serve do |server|
      server.connect do |listener|
        listener.write("GET /news HTTP/1.1\r\nHost: a\r\n\r\n").read_head
        assert_equal "closed", server.request("POST", "/news_of_a_thread").body
        assert_equal ["data: of a thread\n\n", ""], [listener.read_chunk, listener.read_chunk]
      end
    end
  end

  def test_a_select_that_fails_in_a_thread_does_not_end_the_process_of_an_app_that_aborts_on_exceptions
    serve { |server| assert_equal "rescued IOError", server.get("/select").body }
  end

  # The next request must not find what the last one has left, so the fiber ends.
  def test_a_fiber_whose_state_cannot_be_cleared_ends_after_its_request
    serve do |server|
      server.connect do |client|
        assert_equal "fussy", client.get("/fussy").body
        assert_equal "hello", client.get("/hello").body
      end
      server.wait_for(%r{Request \S+ GET /fussy failed, after its response .*: ArgumentError: nil is no value})
    end
  end

  def test_requests_without_a_fiber_are_503_and_the_others_go_on
    serve(env: LARGE_STACKS) do |server|
      clients = Array.new(100) { server.connect.tap { |client| client.get("/hello") } }
      server.request("POST", "/room/400")
      clients.each { |client| client.write("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") }
      server.wait_for(/WARN .*\d+ requests got no fiber, and a 503 was sent: The system refuses another fiber: /)
      reset(clients.shift) # its fiber is free for the one that wakes the others
      wait_until("a request is served") { server.request("POST", "/words").status == 201 }
      assert_served_or_refused clients.map(&:read_answer)
    ensure
      clients&.each(&:close)
    end
  end

  def test_a_handler_that_gets_no_fiber_learns_it_and_can_go_on
    serve(env: LARGE_STACKS) do |server|
      server.request("POST", "/room/400")
      assert_equal "true Elah::Overloaded", server.get("/spawn_rescued").body
      assert_equal [503, "overloaded"], server.get("/spawn").then { |answer| [answer.status, answer.json["code"]] }
      server.request("DELETE", "/room")
      assert_equal '[[:late], ["none"], [Elah::DeadlineExceeded]]', server.get("/gather").body
    end
  end

  def test_calls_of_a_gather_that_get_no_fiber_have_failed
    serve(env: LARGE_STACKS) do |server|
      server.request("POST", "/room/400")
      expected = '[[:failed, :late], ["none"], [Elah::DeadlineExceeded, Elah::Overloaded]]'
      assert_equal expected, server.get("/gather").body
    end
  end

  def test_no_more_fibers_are_spawned_than_spawned_max
    serve(spawned_max: 3) do |server|
      assert_equal "true Elah::Overloaded", server.get("/spawn_rescued").body
      answer = server.get("/spawn")
      assert_equal [503, "overloaded"], [answer.status, answer.json["code"]]
      assert_equal "3 spawned fibers run already: try again later.", answer.json["detail"]
      expected = '[[:failed, :late], ["none"], [Elah::DeadlineExceeded, Elah::Overloaded]]'
      assert_equal expected, server.get("/gather").body
    end
  end

  private

  def reset(client)
    client.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    client.close
  end

  def assert_served_or_refused(answers)
    refused, served = answers.partition { |answer| answer.status == 503 }
    assert_equal ["a word"], served.map(&:body).uniq
    assert_equal [["overloaded", "1"]], refused.map { |answer| [answer.json["code"], answer["retry-after"]] }.uniq
  end
end

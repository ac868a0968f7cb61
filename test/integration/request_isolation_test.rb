# frozen_string_literal: true

require "test_helper"
require "support/elah_server"

# What a request leaves in its fiber is gone when the next one begins. A tenant of one request was seen by the next:
# fibers are pooled.
class RequestIsolationTest < Minitest::Test
  APP = <<~'RUBY'
    KEPT = []

    class App < Elah::API
      format :json

      helpers do
        def left = [*Thread.current.keys, *trace, *(Fiber[:tenant] if Fiber.respond_to?(:[]))]

        def trace = Fiber.current.respond_to?(:trace) ? Fiber.current.trace : nil

        def within_all(&block)
          Elah.timeout(0.1) { Elah.shield { Thread.handle_interrupt(Exception => :never, &block) } }
        end

        def limits = [Elah.deadline > 10, Elah.current_task.shields(RuntimeError.new)]

        def keep(value)
          Thread.current[:tenant] = Thread.current["user"] = value
          Fiber.current.trace = value if Fiber.current.respond_to?(:trace)
          Fiber[:tenant] = value if Fiber.respond_to?(:[])
          nil
        end
      end

      get(:keeps_storage) do
        left.tap { Fiber.current.storage = { tenant: params[:value] } if Fiber.method_defined?(:storage) }
      end
      get(:keeps) { left.tap { keep(params[:value]) } }
      get(:waits) do
        found = left
        keep(params[:value])
        sleep(0.01)
        [found, Thread.current[:tenant]]
      end
      get(:raises) { keep("a") || raise("it fails") }
      get("unfinished/:what") do
        within = params[:what] == "timeout" ? ->(&block) { Timeout.timeout(0.1, &block) } : method(:within_all)
        (KEPT << Enumerator.new { |values| within.call { values << 1 } }).last.next
      end
      get(:finishes) do
        KEPT.shift.next
      rescue StopIteration
        limits
      end
      get(:limits) { sleep(0.2) && limits }
      get(:spawns) do
        keep("a")
        Elah.async { Thread.current.keys }.value
      end
    end

    Fiber[:tenant] = "of the process" if Fiber.respond_to?(:[])
    run App
  RUBY

  # As ActiveSupport and OpenTelemetry add one.
  ATTRIBUTE = "Fiber.attr_accessor :trace\n"

  def server = @server ||= ElahServer.start(APP)

  def teardown = @server&.stop

  def test_attributes_that_a_library_has_added_to_fibers_are_empty_too
    @server = ElahServer.start(ATTRIBUTE + APP)
    test_requests_that_follow_each_other_find_nothing
  end

  def test_requests_that_follow_each_other_find_nothing
    server.connect do |client|
      assert_equal [[]] * 5, Array.new(5) { client.get("/keeps?value=a").json }
      client.write("GET /keeps?value=b HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
      assert_equal [[]] * 10, Array.new(10) { client.read_answer.json }
    end
  end

  def test_a_storage_that_is_set_as_a_whole_is_empty_too
    server.connect { |client| assert_equal [[]] * 5, Array.new(5) { client.get("/keeps_storage?value=a").json } }
  end

  def test_a_request_that_waits_keeps_its_own
    clients = Array.new(8) { |number| server.connect.write("GET /waits?value=#{number} HTTP/1.1\r\nHost: a\r\n\r\n") }
    assert_equal((0...8).map { |number| [[], number.to_s] }, clients.map { |client| client.read_answer.json })
    assert_equal [], server.get("/keeps?value=a").json
  ensure
    clients.each(&:close)
  end

  # Its time limit ended another request, whose deadline was over, and which its shields shielded.
  def test_blocks_that_a_request_leaves_unfinished_in_an_enumerator_concern_no_other_request
    server.connect do |client|
      %w[timeout all].each do |what|
        assert_equal 1, client.get("/unfinished/#{what}").json
        assert_equal [true, 0], client.get("/limits").json
      end
      2.times { assert_equal [true, 0], client.get("/finishes").json }
      assert_equal [true, 0], client.get("/limits").json
    end
  end

  def test_a_request_that_fails_leaves_nothing
    assert_equal 500, server.get("/raises").status
    assert_equal [], server.get("/keeps?value=a").json
  end

  def test_a_fiber_that_a_request_starts_has_locals_of_its_own
    assert_equal [], server.get("/spawns").json
  end
end

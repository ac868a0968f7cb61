# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/elah_server"

# What nobody has rescued reaches the `on_error` hooks and the error reporter of ActiveSupport, with where it happened.
class ErrorReportsTest < Minitest::Test
  APP = File.expand_path("../support/apps/failures.rb", __dir__)
  HOOK = <<~'RUBY'
    on_error { |error, context| $stderr.puts "hook: #{error.class} #{context.sort.inspect}" }
  RUBY

  def serve(app: APP, hook: HOOK, arguments: [], **options, &block)
    Dir.mktmpdir do |folder|
      config = File.join(folder, "config.rb")
      File.write(config, hook)
      ElahServer.start(app, config: config, arguments: arguments, **options, &block)
    end
  end

  def test_an_exception_of_a_handler_is_reported_with_its_request_and_route
    serve do |server|
      id = server.get("/orders/7").json["request_id"]
      line = server.wait_for(/^hook: ArgumentError (.*)$/)[1]
      assert_equal [[:method, "GET"], [:path, "/orders/7"], [:request_id, id], [:route, "/orders/:id"]].inspect, line
    end
  end

  def test_a_rack_app_has_its_own_routes
    serve(app: 'run ->(env) { env["PATH_INFO"] == "/ok" ? [200, {}, []] : raise(NameError, "gone") }') do |server|
      assert_equal 500, server.get("/x").status
      server.wait_for(%r{^hook: NameError .*\[:path, "/x"\].*\[:route, nil\]\]$})
    end
  end

  def test_streams_background_fibers_and_sinks_are_reported
    serve do |server|
      server.connect { |client| client.write("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n") }
      server.wait_for(%r{^hook: IOError .*\[:path, "/stream"\]})
      server.get("/detached")
      server.wait_for(/^hook: ThreadError \[\]$/)
      server.get("/every")
      server.wait_for(/^hook: FloatDomainError \[\]$.*^hook: FloatDomainError \[\]$/m)
      server.get("/calm")
      server.get("/event")
      server.wait_for(/^hook: KeyError \[\[:event_id, "[-0-9a-f]{36}"\], \[:sink, "work"\]\]$/)
    end
  end

  # A fiber that failed because it read a cancelled one was taken for cancelled itself: nobody heard of it.
  def test_a_fiber_that_read_a_cancelled_one_is_reported
    serve do |server|
      server.get("/cancelled")
      server.wait_for(/^hook: Elah::Cancelled \[\]$/)
    end
  end

  def test_what_is_no_fault_is_not_reported
    serve do |server|
      assert_equal 418, server.get("/refused").status
      assert_equal 404, server.get("/nowhere").status
      server.get("/orders/1")
      server.wait_for(/^hook: ArgumentError/)
      assert_equal 1, server.log.scan(/^hook:/).size
    end
  end

  def test_a_deadline_is_reported
    serve(request_seconds: 1) do |server|
      assert_equal 504, server.get("/late").status
      server.wait_for(%r{^hook: Elah::DeadlineExceeded .*"/late"})
    end
  end

  def test_a_hook_that_fails_is_a_line_of_the_log
    serve(hook: 'on_error { raise "no report" }') do |server|
      assert_equal 503, server.get("/down").status
      server.wait_for(/ERROR .*The report of an exception failed: RuntimeError: no report/)
      assert_equal 200, server.get("/hello").status
    end
  end

  def test_a_hook_without_memory_is_a_line_of_the_log
    serve(hook: "on_error { raise NoMemoryError }") do |server|
      assert_equal 503, server.get("/down").status
      server.wait_for(/ERROR .*The report of an exception failed: .*NoMemoryError/)
      assert_equal 200, server.get("/hello").status
    end
  end

  # The client would wait for the report.
  def test_a_hook_that_waits_delays_nobody
    server = serve(hook: "on_error { sleep }")
    assert_equal 500, server.get("/orders/1").status
    assert_equal 200, server.get("/hello").status
  ensure
    server&.kill
  end

  # Also one that cannot be cancelled.
  def test_a_hook_that_never_returns_holds_the_drain_until_its_deadline
    hook = "on_error { begin; sleep; rescue Exception; retry; end }"
    serve(hook: hook, drain_seconds: 0.2) do |server|
      assert_equal 500, server.get("/orders/1").status
      server.signal(:TERM)
      assert_equal 75, server.wait_until_ended.exitstatus
      assert_match(/The drain took longer than 0\.2 s: abandoning 1 open requests/, server.log)
      break
    end
  end

  def test_the_error_reporter_of_active_support_receives_the_same
    skip "ActiveSupport 6.1 has no error reporter" unless reporter?
    serve(arguments: %w[--set rails=1]) do |server|
      server.get("/orders/7")
      line = server.wait_for(/^reporter: ArgumentError (.*)$/)[1]
      assert_match(/\[:handled, false\], \[:severity, :error\], \[:source, "elah"\]\]\z/, line)
      assert_match(%r{route.*"/orders/:id"}, line)
      server.get("/down")
      server.wait_for(/^reporter: Elah::Unavailable .*\[:severity, :warning\]/)
    end
  end

  private

  def reporter?
    require "active_support"
    require "active_support/error_reporter"
    true
  rescue LoadError
    false
  end
end

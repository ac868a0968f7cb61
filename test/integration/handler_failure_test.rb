# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/gems"

# What a handler can do wrong: each costs its own request at most, and the connection goes on working.
class HandlerFailureTest < Minitest::Test
  APP = File.expand_path("../support/apps/loop.rb", __dir__)

  @server = ElahServer.start(APP, stall_ms: 50, request_seconds: 3)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def server = self.class.server

  { "raise" => "RuntimeError: boom", "throw" => "UncaughtThrowError", "overflow" => "SystemStackError",
    "fiber_yield" => "FiberError", "bad_header" => "Elah::InvalidHeader" }.each do |path, logged|
    define_method(:"test_#{path}_is_a_500_with_an_id_that_the_log_knows") do
      server.connect do |client|
        answer = client.get("/#{path}")
        assert_equal [500, "application/problem+json", "internal_error"],
                     [answer.status, answer["content-type"], answer.json["code"]]
        server.wait_for(/Request #{answer.json['request_id']} GET \/#{path} failed: #{logged}/)
        assert_equal "hello", client.get("/hello").body
      end
    end
  end

  # The log did not know the id of the answer.
  def test_a_handler_that_ends_without_an_answer_is_a_500_that_the_log_knows
    server.connect do |client|
      answer = client.get("/silent")
      assert_equal [500, "no_response"], [answer.status, answer.json["code"]]
      server.wait_for(%r{ERROR .*Request #{answer.json['request_id']} GET /silent ended without a response})
      assert_equal "hello", client.get("/hello").body
    end
  end

  def test_a_request_keeps_the_id_that_a_proxy_gave_it
    answer = server.get("/raise", headers: { "X-Request-Id" => "f058ebd6-02f7-4d3f@edge.1" })
    assert_equal "f058ebd6-02f7-4d3f@edge.1", answer.json["request_id"]
    server.wait_for(%r{Request f058ebd6-02f7-4d3f@edge\.1 GET /raise failed})
    ["two words", "", "a" * 129, "line\\n", "<b>"].each do |given|
      assert_match(/\A[a-z2-7]{6}-\d+\z/, server.get("/raise", headers: { "X-Request-Id" => given }).json["request_id"])
    end
  end

  # Within another Rack app they were of two kinds: what a client had was in no line of the log.
  def test_an_api_within_middleware_has_the_id_of_the_log
    app = <<~RUBY
      use Rack::Lint
      map("/in") do
        run(Class.new(Elah::API) do
          error_format :problem
          get(:id) { Elah.async { request.id }.value }
          get(:refused) { error!("no", 410) }
          get(:raise) { env["rack.errors"].puts("seen by \#{request.id}") || raise("on purpose") }
        end)
      end
    RUBY
    ElahServer.start(app, extension: ".ru", log_requests: true) do |server|
      server.wait_for(%r{GET /in/id 200 .*\b#{server.get('/in/id').body}\b})
      server.wait_for(%r{GET /in/refused 410 .*\b#{server.get('/in/refused').json['request_id']}\b})
      id = server.get("/in/raise").json["request_id"]
      server.wait_for(/seen by #{id}$/)
      assert_equal "edge-1", server.get("/in/id", headers: { "X-Request-Id" => "edge-1" }).body
    end
  end

  # Workers that were forked gave the same ids.
  def test_the_workers_of_a_server_share_no_ids
    app = 'require "elah/api"; run Class.new(Elah::API) { get(:a) { [Process.pid, request.id].join(" ") } }'
    ElahServer.start(app, workers: 2) do |server|
      ids = {}
      until ids.size == 2
        pid, id = server.get("/a").body.split
        ids[pid] = id[/\A[^-]+/]
      end
      assert_equal 2, ids.values.uniq.size
    end
  end

  # The log had the failure of the hook alone.
  def test_an_exception_that_another_one_replaces_is_logged_too
    app = 'require "elah/api"; run Class.new(Elah::API) { finally { raise "hook" }; get(:a) { raise "handler" } }'
    ElahServer.start(app) do |server|
      assert_equal 500, server.get("/a").status
      server.wait_for(/GET \/a failed: RuntimeError: hook\n.*^ +caused by RuntimeError: handler \(.+:1:in /m)
    end
  end

  def test_a_backtrace_is_logged_and_never_sent
    answer = server.get("/raise")
    refute_match(/loop\.rb/, answer.body)
    server.wait_for(%r{boom\n.*support/apps/loop\.rb:\d+}m)
  end

  def test_a_handler_that_never_answers_is_cancelled_at_its_deadline_and_cleans_up
    server.connect do |client|
      answer = client.get("/never")
      assert_equal [504, "deadline_exceeded"], [answer.status, answer.json["code"]]
      assert_match(/\bnever\b/, client.get("/cleaned").body)
    end
  end

  def test_a_neighbour_of_a_cancelled_handler_is_unharmed
    server.connect do |late|
      late.write("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
      server.connect { |neighbour| assert_equal "slept", neighbour.get("/sleep/200").body }
      assert_equal 504, late.read_answer.status
    end
  end

  # The report is of the line that runs when the watching thread gets Ruby's lock: 150 ms after the start on an idle
  # machine.
  def test_a_handler_that_hogs_the_loop_is_reported_with_its_line
    line = File.readlines(APP).index { |text| text.include?("the line that stalls") } + 1
    assert_equal "hogged", server.get("/hog/2000").body
    server.wait_for(/blocked the loop for \d+ ms at\n(?:.*\n)*?.*loop\.rb:#{line}/)
  end

  # Where the log ended at the first lines of the backtrace, the gem and the app's own line had to be guessed.
  def test_a_gem_that_hogs_the_loop_is_named_with_its_line_and_the_apps
    Dir.mktmpdir do |folder|
      library = File.join(folder, "gems", "busy-loop-1.2.3", "lib")
      FileUtils.mkdir_p(library)
      File.write(File.join(library, "busy_loop.rb"), <<~RUBY)
        module BusyLoop
          def self.deep(depth, finish_at) = depth.zero? ? hog(finish_at) : deep(depth - 1, finish_at)
          def self.hog(finish_at)
            nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish_at
          end
        end
      RUBY
      app = <<~RUBY
        require "elah/api"
        require "#{library}/busy_loop"
        now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
        run(Class.new(Elah::API) { get(:x) { BusyLoop.deep(20, now.call + 2).to_s } })
      RUBY
      ElahServer.start(app, stall_ms: 50) do |hogged|
        hogged.get("/x")
        named = %r{in the gem busy-loop 1\.2\.3 \(.*/busy_loop\.rb:4\), called from .*/app\.rb:4, at\n\s+/}
        hogged.wait_for(/blocked the loop for \d+ ms #{named}/)
      end
    end
  end

  # In the locale C, Ruby reads paths as ASCII. The watch failed at such bytes, and at the end of the worker
  # in its place.
  def test_a_handler_that_hogs_the_loop_is_reported_under_a_path_that_is_not_ascii
    Dir.mktmpdir do |folder|
      path = File.join(folder, "caf\u00E9.rb")
      File.write(path, <<~RUBY)
        require "elah/api"
        now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
        run(Class.new(Elah::API) { get(:x) { finish_at = now.call + 2; nil while now.call < finish_at } })
      RUBY
      ElahServer.start(path, env: { "LC_ALL" => "C" }, stall_ms: 50) do |hogged|
        2.times { hogged.get("/x") }
        hogged.wait_for(/(?:blocked the loop for \d+ ms at\n.*caf.*\.rb:[23].*){2}/m)
      end
    end
  end

  # Their folders name no gem on Debian. The statement runs in C; the log names the frame of Ruby around it. Later
  # Rubies let no other thread run before the handler has ended: no line is better than a wrong one.
  def test_a_native_gem_that_hogs_the_loop_is_named
    Gems.missing("sqlite3")&.then { |reason| skip reason }
    app = <<~RUBY
      require "rubygems"
      require "sqlite3"
      require "elah/api"
      COUNT = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000000) SELECT count(*) FROM c"
      run(Class.new(Elah::API) { get(:x) { SQLite3::Database.new(":memory:").get_first_value(COUNT).to_s } })
    RUBY
    ElahServer.start(app, stall_ms: 50) do |hogged|
      assert_equal "2000000", hogged.get("/x").body
      named = %r{blocked the loop for \d+ ms in the gem sqlite3 \d[.\d]+ \(.*\.rb:\d+\), called from .*/app\.rb:5, at$}
      ended = /A handler blocked the loop for more than \d+ ms and has ended\. Native code kept Ruby's lock/
      hogged.wait_for(RUBY_VERSION < "3.2" ? named : Regexp.union(named, ended))
    end
  end

  # They ended the server, for all other clients too.
  def test_a_handler_that_calls_exit_or_kills_its_thread_fails_alone
    server.connect do |neighbour|
      neighbour.write("GET /sleep/200 HTTP/1.1\r\nHost: a\r\n\r\n")
      { "exit" => 7, "kill" => 0, "abort" => 1, "exit_in_a_fiber" => 7 }.each do |path, status|
        server.connect do |client|
          assert_equal [500, "internal_error"],
                       client.get("/#{path}").then { |answer| [answer.status, answer.json["code"]] }
          reason = "called exit with status #{status}; only this request fails, the server continues: SystemExit"
          server.wait_for(%r{ERROR .*GET /#{path} #{reason}})
          assert_equal "hello", client.get("/hello").body
        end
      end
      assert_equal "slept", neighbour.read_answer.body
    end
  end

  def test_a_handler_that_raises_the_exception_of_a_signal_fails_alone
    [{}, { workers: 1 }].each do |options|
      ElahServer.start(APP, **options) do |interrupted|
        interrupted.connect do |client|
          failures = { "interrupt" => "Interrupt: Interrupt", "interrupt_in_a_fiber" => "SignalException: SIGTERM" }
          failures.each do |path, logged|
            assert_equal 500, client.get("/#{path}").status
            interrupted.wait_for(%r{GET /#{path} failed: #{logged}})
            assert_equal "hello", client.get("/hello").body
          end
        end
        interrupted.stop(with: :INT)
      end
    end
  end

  # Every wait of all requests blocked the loop from then on: the gem async sets a scheduler of its own.
  def test_a_handler_that_sets_another_scheduler_fails_alone
    app = <<~RUBY
      class Other
        %i[block unblock kernel_sleep io_wait fiber].each { |name| define_method(name) { |*| } }
      end
      api = Class.new(Elah::API) do
        get("/none") { Fiber.set_scheduler(nil) }
        get("/other") { Fiber.set_scheduler(Other.new) }
        get("/sleep") { sleep(0.2) && "slept" }
        get("/offload") { Elah.offload { Fiber.set_scheduler(Other.new) && "set" } }
      end
      run api
    RUBY
    ElahServer.start(app, stall_ms: 100) do |server|
      %w[none other].each do |path|
        assert_equal 500, server.get("/#{path}").status
        server.wait_for(%r{GET /#{path} failed: Elah::SchedulerInUse: .* call it in Elah\.offload})
      end
      clients = Array.new(4) { server.connect.write("GET /sleep HTTP/1.1\r\nHost: a\r\n\r\n") }
      assert_equal ["slept"], clients.map { |client| client.read_answer.body }.uniq
      assert_equal "set", server.get("/offload").body
      refute_match(/blocked the loop/, server.log)
    ensure
      clients&.each(&:close)
    end
  end

  def test_an_exception_whose_own_methods_raise_fails_alone
    server.connect do |client|
      %w[class_name class_text message backtrace].each_with_index do |method, index|
        answer = client.get("/hostile/#{method}")
        assert_equal [500, "internal_error"], [answer.status, answer.json["code"]], method
        server.wait_for(%r{ERROR .*Request #{answer.json['request_id']} GET /hostile/#{method} failed})
        assert_equal 200, client.get("/hostile_spawned/#{method}").status
        server.wait_for(/(?:ERROR \[\d+\] A spawned fiber failed.*?){#{index + 1}}/m)
        assert_equal "hello", client.get("/hello").body
      end
    end
  end

  # It ended the worker, and with it all other requests.
  def test_an_allocation_of_an_absurd_size_fails_alone
    server.connect do |neighbour|
      neighbour.write("GET /sleep/200 HTTP/1.1\r\nHost: a\r\n\r\n")
      %w[absurd absurd_in_a_fiber].each do |path|
        assert_equal 500, server.get("/#{path}").status
        server.wait_for(%r{GET /#{path} failed: NoMemoryError})
      end
      assert_equal "slept", neighbour.read_answer.body
    end
  end

  # The message began a line of its own, and reached a terminal as it was.
  def test_a_message_in_the_log_stays_on_its_line
    server.get("/forges")
    line = server.wait_for(/^.*GET \/forges failed.*$/)[0]
    assert_includes line,
                    'RuntimeError: one\r\n2026-01-01T00:00:00.000Z INFO  [1] forged\e[31m \u0000 \u009B \u2028 � ü'
    refute_match(/^2026-01-01/, server.log)
  end
end

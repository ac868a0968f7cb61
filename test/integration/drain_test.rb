# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"
require "tmpdir"

# TERM and INT: nothing that was accepted is lost, and the process ends.
class DrainTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/loop.rb", __dir__)

  # QUIT cancelled the requests at once, and ended a supervisor without its workers.
  [[:TERM, 1], [:INT, 1], [:QUIT, 1], [:QUIT, 2]].each do |signal, workers|
    define_method(:"test_#{signal}_answers_what_runs_and_what_waits_with_#{workers}") do
      server = ElahServer.start(APP, workers: workers, fibers_max: 8, queue_seconds: 60)
      # 8 run, 8 wait for a fiber, and some may still be with the kernel when the signal comes.
      clients = Array.new(16) { HttpClient.new(server.url) }
      idle = HttpClient.new(server.url)
      idle.get("/hello")
      clients.each { |client| client.write("GET /sleep/300 HTTP/1.1\r\nHost: a\r\n\r\n") }
      server.signal(signal)
      answers = clients.map(&:read_answer)
      assert_equal [["slept", "close"]], answers.map { |answer| [answer.body, answer["connection"]] }.uniq
      assert_equal "", idle.read_to_end
      assert_predicate server.wait_until_ended, :success?
    ensure
      server&.kill
    end
  end

  # Ruby 3.1 hands signals over through one of its sleeping threads. A thread of the app had that office, ended, and
  # took it along: TERM was never noticed again.
  def test_a_signal_is_noticed_after_a_thread_that_slept_has_ended
    app = <<~RUBY
      sleeper = Thread.new { sleep }
      api = Class.new(Elah::API) do
        get(:wake) { sleeper.wakeup.join && "ended" }
      end
      run api
    RUBY
    ElahServer.start(app) do |server|
      assert_equal "ended", server.get("/wake").body
      server.signal(:TERM)
      assert_predicate server.wait_until_ended, :success?
    end
  end

  # The worker looked at its sockets for what it knew already: all that had come while a handler computed was reset.
  def test_requests_that_came_while_a_handler_computed_are_answered
    while_computing do |server, busy, clients|
      ask(*clients)
      late = Array.new(8) { HttpClient.new(server.url) }
      ask(*late)
      server.signal(:TERM)
      lambda do
        assert_equal %w[computed hello], [busy, *clients, *late].map { |client| client.read_answer.body }.uniq
        assert_predicate server.wait_until_ended, :success?
      end
    end
  end

  # A connection that was idle for too long was closed without a look at what had arrived, as in the drain of a restart.
  def test_a_request_that_came_in_time_while_a_handler_computed_is_answered
    while_computing(keepalive_seconds: 2) do |_, busy, clients|
      ask(*clients)
      begun_at = monotonic
      wait_until("their time is over") { monotonic - begun_at > 2.5 }
      -> { assert_equal %w[computed hello], [busy, *clients].map { |client| client.read_answer.body }.uniq }
    end
  end

  def test_pipelined_requests_that_were_read_are_answered
    server = ElahServer.start(APP)
    server.connect do |client|
      client.write("GET /sleep/200 HTTP/1.1\r\nHost: a\r\n\r\n#{"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n" * 3}")
      server.connect { |probe| probe.get("/hello") }
      server.signal(:TERM)
      assert_equal %w[slept hello hello hello], Array.new(4) { client.read_answer.body }
    end
    assert_predicate server.wait_until_ended, :success?
  ensure
    server&.kill
  end

  # It held the drain for `header_seconds`.
  def test_a_client_that_has_sent_half_a_head_does_not_hold_the_drain
    server = ElahServer.start(APP, header_seconds: 600, drain_seconds: 300)
    server.connect do |client|
      client.write("GET /hello HTTP/1.1\r\nHost: a")
      server.connect { |probe| probe.get("/hello") }
      server.signal(:TERM)
      assert_equal 408, client.read_answer.status
    end
    assert_predicate server.wait_until_ended, :success?
  ensure
    server&.kill
  end

  def test_nobody_is_accepted_any_more
    server = ElahServer.start(APP)
    server.connect do |client|
      client.write("GET /sleep/500 HTTP/1.1\r\nHost: a\r\n\r\n")
      server.connect { |probe| probe.get("/hello") }
      server.signal(:TERM)
      assert_equal "slept", client.read_answer.body
    end
    server.wait_until_ended
    assert_raises(Errno::ECONNREFUSED) { HttpClient.new(server.url) }
  ensure
    server&.kill
  end

  def test_a_request_that_outlives_the_drain_is_given_up
    server = ElahServer.start(APP, drain_seconds: 0.2)
    server.connect do |client|
      client.write("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
      server.connect { |probe| probe.get("/hello") }
      server.signal(:TERM)
      assert_equal 75, server.wait_until_ended.exitstatus
      assert_match(/The drain took longer than 0\.2 s: abandoning 1 open requests, exit status 75/, server.log)
    end
  ensure
    server&.kill
  end

  # `rescue_from :all` took the end of the server for an error of the handler: clients got a 500, and no balancer sends
  # such a request elsewhere.
  def test_a_request_that_is_given_up_is_told_so_whatever_the_api_rescues
    app = <<~RUBY
      class Rescuing < Elah::API
        rescue_from(:all) { |error| error!("rescued \#{error.class}", 500) }
        get(:fails) { raise "on purpose" }
        get(:never) { sleep }
      end
      run Rescuing
    RUBY
    server = ElahServer.start(app, drain_seconds: 0.2)
    server.connect do |client|
      client.write("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal "rescued RuntimeError", server.get("/fails").body
      server.signal(:TERM)
      answer = client.read_answer
      assert_equal 503, answer.status
      assert_equal "server_stopped", answer.json["code"]
    end
  ensure
    server&.kill
  end

  private

  def ask(*clients) = clients.each { |client| client.write("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n") }

  # Yields the server, a client whose handler computes and four clients between two requests. Then the handler may end,
  # and what the block returns is called.
  def while_computing(**options)
    Dir.mktmpdir do |folder|
      server = ElahServer.start(<<~RUBY, **options)
        class Computing < Elah::API
          format :txt
          get(:hello) { "hello" }
          get(:computes) do
            File.write("#{folder}/begun", "")
            nil until File.exist?("#{folder}/may_end")
            "computed"
          end
        end
        run Computing
      RUBY
      clients = Array.new(4) { HttpClient.new(server.url).tap { |client| client.get("/hello") } }
      busy = HttpClient.new(server.url).write("GET /computes HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until("it computes") { File.exist?("#{folder}/begun") }
      check = yield server, busy, clients
      File.write("#{folder}/may_end", "")
      check.call
    ensure
      server&.kill
    end
  end
end

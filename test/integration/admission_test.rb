# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# The bounds on what runs and waits at once: connections, fibers, the queue, idle connections, clients that do not read.
class AdmissionTest < Minitest::Test
  APP = File.expand_path("../support/apps/loop.rb", __dir__)

  def start(**options, &block) = ElahServer.start(APP, **options, &block)

  # Sends GET `path` on `count` connections at once and gives the answers.
  def burst(server, path, count)
    clients = Array.new(count) { HttpClient.new(server.url) }
    clients.each { |client| client.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n") }
    clients.map(&:read_answer)
  ensure
    clients&.each(&:close)
  end

  def test_sleeping_requests_wait_together
    start do |server|
      started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      answers = burst(server, "/sleep/300", 100)
      assert_equal ["slept"], answers.map(&:body).uniq
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at, :<, 15,
                      "one after the other takes 30 s"
    end
  end

  # Requests that had come in together were all answered when the last of them had run.
  def test_answers_go_out_before_others_run_that_came_in_with_them
    start do |server|
      server.connect do |first|
        first.write("GET /hog/100 HTTP/1.1\r\nHost: a\r\n\r\n") # the others come in meanwhile
        assert_equal 6, burst(server, "/turn/5", 6).map(&:body).uniq.size
        assert_equal "hogged", first.read_answer.body
      end
    end
  end

  def test_no_more_requests_run_at_once_than_there_are_fibers
    start(fibers_max: 3, queue_seconds: 60) do |server|
      assert_equal [200], burst(server, "/sleep/50", 12).map(&:status).uniq
      assert_equal "3", server.get("/peak").body
    end
  end

  def test_a_full_queue_is_503_with_retry_after_at_once
    start(fibers_max: 1, queue_max: 2, queue_seconds: 60) do |server|
      answers = burst(server, "/sleep/2000", 10)
      assert_equal({ 200 => 3, 503 => 7 }, answers.map(&:status).tally)
      refused = answers.find { |answer| answer.status == 503 }
      assert_equal %w[1 overloaded], [refused["retry-after"], refused.json["code"]]
    end
  end

  def test_a_request_that_waits_too_long_for_a_fiber_is_503
    start(fibers_max: 1, queue_seconds: 0.2) do |server|
      statuses = burst(server, "/sleep/3000", 2).map(&:status)
      assert_equal [200, 503], statuses.sort
    end
  end

  # The 504 of a request whose turn had not come was sent, and then its handler ran, without a deadline.
  def test_a_request_whose_deadline_passes_before_its_turn_never_runs
    app = <<~RUBY
      BEGUN = []
      api = Class.new(Elah::API) do
        get("/begun") { BEGUN.size.to_s }
        get("/compute") do
          BEGUN << Process.clock_gettime(Process::CLOCK_MONOTONIC)
          nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < BEGUN.last + 1.2
          "computed"
        end
      end
      run api
    RUBY
    ElahServer.start(app, request_seconds: 1) do |server|
      clients = Array.new(6) { server.connect.tap { |client| client.get("/begun") } }
      server.signal(:STOP)
      clients.each { |client| client.write("GET /compute HTTP/1.1\r\nHost: a\r\n\r\n") }
      server.signal(:CONT) # so that all of them come in at once
      statuses = clients.map { |client| client.read_answer.status }.tally
      assert_operator statuses.fetch(504, 0), :>=, 3
      assert_equal statuses.fetch(200, 0), server.get("/begun").body.to_i
    ensure
      clients&.each(&:close)
    end
  end

  def test_connections_beyond_the_bound_wait_until_one_closes
    start(connections_max: 2) do |server|
      first = HttpClient.new(server.url)
      second = HttpClient.new(server.url)
      assert_equal %w[hello hello], [first, second].map { |client| client.get("/hello").body }
      third = HttpClient.new(server.url)
      third.write("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_nil third.socket.wait_readable(0.3), "it is not served while two are open"
      first.close
      assert_equal "hello", third.read_answer.body
    end
  end

  def test_an_idle_connection_is_closed
    start(keepalive_seconds: 0.2) do |server|
      server.connect do |client|
        client.get("/hello")
        assert_equal "", client.read_to_end
      end
    end
  end

  def test_a_client_that_reads_nothing_costs_a_bounded_number_of_bytes_and_is_closed
    start(write_seconds: 0.5, response_buffer_bytes: 65_536) do |server|
      before = resident_bytes(server)
      server.connect do |client|
        client.socket.setsockopt(:SOCKET, :RCVBUF, 4096)
        client.write("GET /stream/20000/10000 HTTP/1.1\r\nHost: a\r\n\r\n")
        ask_until(server, "/cleaned", /stream/)
        assert_operator resident_bytes(server) - before, :<, 40_000_000, "200 MB were to be sent"
      end
    end
  end

  def test_as_many_descriptors_as_allowed_are_used
    start(env: { "RUBYOPT" => "-r#{File.join(__dir__, '../support/low_descriptor_limit.rb')}" }) do |server|
      soft, hard = File.read("/proc/#{server.pid}/limits")[/Max open files\s+\d+\s+\d+/].scan(/\d+/)
      assert_equal hard, soft
    end
  end

  # The server did not start.
  def test_a_limit_of_descriptors_that_cannot_be_raised_is_used_as_it_is
    start(env: { "RUBYOPT" => "-r#{File.join(__dir__, '../support/kept_descriptor_limit.rb')}" }) do |server|
      server.wait_for(/The limit of file descriptors stays at 256, below the hard limit of \d+: Operation not perm/)
      server.wait_for(/The limit of 256 file descriptors allows 192 connections, not connections_max/)
    end
  end

  # They took the last descriptor, and the first file that the worker opened then ended it.
  def test_connections_leave_descriptors_to_the_worker
    app = <<~RUBY
      run(Class.new(Elah::API) { get("/") { File.read("/proc/self/status").size.to_s } })
    RUBY
    ElahServer.start(app, under: %w[prlimit --nofile=128:128]) do |server|
      server.wait_for(/The limit of 128 file descriptors allows 64 connections, not connections_max/)
      server.connect do |client|
        client.get("/")
        crowd = Array.new(128) { server.connect }
        assert_equal 200, client.get("/").status
      ensure
        crowd&.each(&:close)
      end
    end
  end

  # The code that reports an exception was loaded with the first one.
  def test_a_handler_that_finds_no_descriptor_fails_alone
    app = <<~RUBY
      api = Class.new(Elah::API) do
        get("/") { "hello" }
        get("/all") { loop { (@files ||= []) << File.open("/dev/null") } }
        get("/spawned") { Elah.async { loop { (@files ||= []) << File.open("/dev/null") } } && "spawned" }
      end
      run api
    RUBY
    ElahServer.start(app, under: %w[prlimit --nofile=128:128]) do |server|
      server.connect do |client|
        %w[/all /spawned].each do |path|
          client.get(path)
          server.wait_for(/Errno::EMFILE.*Errno::EMFILE/m) if path == "/spawned"
          assert_equal "hello", client.get("/").body
        end
      end
    end
  end

  # Clients waited for a server whose log and status said nothing.
  def test_connections_that_cannot_be_accepted_are_logged
    app = <<~RUBY
      FILES = []
      api = Class.new(Elah::API) do
        get("/") { "hello" }
        get("/open") { loop { FILES << File.open("/dev/null") } }
        get("/close") { FILES.each(&:close).clear && "closed" }
      end
      run api
    RUBY
    ElahServer.start(app, under: %w[prlimit --nofile=128:128]) do |server|
      server.connect do |client|
        client.get("/open")
        server.connect do |waiting|
          waiting.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          server.wait_for(/ERROR .*Connections wait because the worker cannot accept them: Too many open files/)
          client.get("/close")
          assert_equal "hello", waiting.read_answer.body
        end
      end
    end
  end

  def test_file_descriptors_that_run_out_come_back
    start do |server|
      system("prlimit", "--pid", server.pid.to_s, "--nofile=40:40") or skip "prlimit is missing"
      crowd = Array.new(80) { HttpClient.new(server.url) }
      crowd.each(&:close)
      assert_equal "hello", server.connect { |client| client.get("/hello").body }
    end
  end

  private

  # Repeats a request until its answer matches.
  def ask_until(server, path, pattern, seconds: 60)
    give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    server.connect do |client|
      until pattern.match?(client.get(path).body)
        flunk "#{path} did not match #{pattern.inspect}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
      end
    end
  end

  def resident_bytes(server) = File.read("/proc/#{server.pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i * 1024
end

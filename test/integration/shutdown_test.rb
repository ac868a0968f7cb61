# frozen_string_literal: true

require_relative "../test_helper"
require "tempfile"
require_relative "../support/elah_server"
require_relative "../support/supervised_case"

# A server ends in bounded time, whatever its handlers do: loops, native code that keeps Ruby's lock, and streams
# without end.
class ShutdownTest < Minitest::Test
  include SupervisedCase

  APP = <<~'RUBY'
    require "fiddle"

    # Locks what it has locked, and keeps Ruby's lock meanwhile.
    module Deadlock
      def self.enter
        lock = Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_mutex_lock"],
                                    [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT, need_gvl: true)
        mutex = Fiddle::Pointer.malloc(128)
        mutex[0, 128] = "\0" * 128
        2.times { lock.call(mutex) }
      end
    end

    class App < Elah::API
      format :txt
      before { warn "began #{request.path}" }
      get(:pid) { Process.pid.to_s }
      get(:ruby) { loop { nil } }
      get(:native) { Deadlock.enter }
      get(:sleep) { sleep }
      get(:waits) do
        sleep
      ensure
        warn "the handler cleaned up"
      end
      get(:cleans_up) do
        sleep
      ensure
        loop { nil }
      end
    end

    run App
  RUBY

  COMPUTING = <<~'RUBY'
    class App < Elah::API
      get("/") { "served" }
      get("/computing") do
        warn "computing"
        nil until File.exist?("done")
      end
    end
    run App
  RUBY

  STREAMS = <<~'RUBY'
    NEWS = Elah::Broadcast.new
    class App < Elah::API
      get(:events) do
        sse do |events|
          events.push("first")
          sleep
        ensure
          warn "cleaned up"
        end
      end
      get(:posts) { sse { |events| loop { events.push("more") && sleep(0.01) } } }
      get(:news) { broadcast NEWS }
      get(:long) do
        stream do |out|
          out << "a"
          sleep(0.5)
          out << "z"
        end
      end
    end
  RUBY

  %w[ruby native].each do |kind|
    define_method(:"test_a_drain_ends_although_a_handler_loops_in_#{kind}") do
      with_request("/#{kind}", drain_seconds: 0.2) do |server|
        server.signal(:TERM)
        assert_equal 75, server.wait_until_ended.exitstatus
        time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
        late = /The drain took longer than 0\.2 s, and the server did not end within 1 s more/
        assert_match(/^#{time} ERROR \[\d+\] #{late}: ending the process, exit status 75/, server.log)
      end
    end

    define_method(:"test_a_second_int_ends_a_server_whose_handler_loops_in_#{kind}") do
      with_request("/#{kind}") do |server|
        interrupt_twice(server)
        assert_equal 75, server.wait_until_ended.exitstatus
        assert_match(/ERROR .*INT came again, and the server did not end within 1 s more/, server.log)
      end
    end
  end

  # It took all of drain_seconds.
  def test_a_second_int_ends_a_single_process_whose_handler_sleeps
    with_request("/sleep") do |server|
      interrupt_twice(server)
      assert_equal 75, server.wait_until_ended.exitstatus
      assert_match(/INT came again: abandoning 1 open requests, exit status 75/, server.log)
      assert_match(%r{GET /sleep was cancelled: the worker exits$}, server.log)
    end
  end

  # They were killed at once: no `ensure`, no response, no hook.
  def test_a_second_int_cancels_the_requests_of_workers
    Tempfile.create(%w[config .rb]) do |file|
      File.write(file.path, "before_worker_shutdown { warn 'the hook ran' }")
      with_request("/waits", workers: 2, config: file.path) do |server, client|
        interrupt_twice(server)
        assert_equal [503, "server_stopped"], client.read_answer.then { |got| [got.status, got.json["code"]] }
        assert_equal 75, server.wait_until_ended.exitstatus
        assert_match(/the handler cleaned up/, server.log)
        assert_match(/the hook ran/, server.log)
      end
    end
  end

  # All after the 128th were reset, though the system had accepted them.
  def test_all_connections_that_wait_when_term_comes_are_answered
    ElahServer.start(COMPUTING) do |server|
      clients = [server.connect.write("GET /computing HTTP/1.1\r\nHost: a\r\n\r\n")]
      server.wait_for(/^computing$/)
      request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
      300.times { clients << server.connect.write(request) }
      server.signal(:TERM)
      File.write(File.join(server.folder, "done"), "")
      assert_equal [200], clients.map { |client| client.read_answer.status }.uniq
      assert_predicate server.wait_until_ended, :success?
    ensure
      clients&.each(&:close)
    end
  end

  def test_a_second_int_ends_a_worker_whose_handler_loops
    with_request("/ruby", workers: 2) do |server|
      interrupt_twice(server)
      assert_equal 75, server.wait_until_ended.exitstatus
      assert_match(/Killing Worker .*INT came again, and it did not end within 1\.0 s/, server.log)
    end
  end

  def test_an_ensure_block_that_loops_does_not_hold_the_end
    with_request("/cleans_up", drain_seconds: 0.2) do |server|
      server.signal(:TERM)
      assert_equal 75, server.wait_until_ended.exitstatus
    end
  end

  # `hang_seconds` would have ended it, after a minute.
  def test_term_ends_a_worker_whose_handler_loops
    supervised(APP, drain_seconds: 0.2) do |server|
      with_looping_worker(server) do |pid|
        Process.kill(:TERM, pid)
        server.wait_for(/Worker \d \(process #{pid}\) exited: exit 75/)
        wait_for_workers(server, 2, besides: [pid])
      end
    end
  end

  # Nobody was left who could end it.
  def test_a_worker_whose_handler_loops_ends_when_its_supervisor_is_killed
    server = supervised(APP, drain_seconds: 0.2)
    with_looping_worker(server) do |pid|
      Process.kill(:KILL, server.pid)
      server.wait_for(/ERROR \[#{pid}\] The drain took longer than 0\.2 s, and the server did not end within 1 s more/)
    end
  ensure
    server&.kill
  end

  def test_a_supervisor_ends_although_a_hook_of_its_loops
    Dir.mktmpdir do |folder|
      config = File.join(folder, "elah.rb")
      File.write(config, "after_worker_exit { warn('the hook loops') || loop { nil } }")
      server = supervised(APP, config: config, drain_seconds: 0.2)
      Process.kill(:KILL, worker_pids(server).first)
      server.wait_for(/the hook loops/)
      server.signal(:TERM)
      assert_equal 75, server.wait_until_ended.exitstatus
    ensure
      server&.kill
    end
  end

  # They held a stop for all of drain_seconds, which then ended with status 75.
  def test_event_streams_end_at_once_when_the_server_drains
    middleware = "Class.new { def initialize(app) = @app = app; def call(env) = @app.call(env) }"
    { "run App" => "rb", "use(#{middleware})\nrun App" => "ru" }.each do |last, extension|
      app = "require 'elah/api'\n#{STREAMS}#{last}"
      ElahServer.start(app, extension: ".#{extension}", drain_seconds: 3600) do |server|
        streams = %w[/events /events /posts /news].map do |path|
          HttpClient.new(server.url).write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
        end
        streams.each { |stream| assert_equal 200, stream.read_head.status }
        streams.first(3).each(&:read_chunk)
        server.signal(:TERM)
        assert_equal 0, server.wait_until_ended.exitstatus
        streams.each { |stream| assert stream.read_to_end.end_with?("0\r\n\r\n"), "the answer is complete" }
        assert_equal 2, server.log.scan("cleaned up").size
        refute_match(/WARN (?!.*blocked the loop)|ERROR/, server.log)
      end
    end
  end

  def test_a_long_answer_that_is_no_event_stream_is_completed
    ElahServer.start("#{STREAMS}run App") do |server|
      client = HttpClient.new(server.url).write("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
      client.read_head
      assert_equal "a", client.read_chunk
      server.signal(:TERM)
      assert_equal "z", client.read_chunk
      assert_equal 0, server.wait_until_ended.exitstatus
    end
  end

  private

  # A server whose handler has begun.
  def with_request(path, drain_seconds: 3600, **options)
    server = ElahServer.start(APP, drain_seconds: drain_seconds, **options)
    client = HttpClient.new(server.url).write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
    server.wait_for(/began #{path}/)
    yield server, client
  ensure
    client&.close
    server&.kill
  end

  # The second one comes when the first has been taken note of: Ruby and the system keep one of each kind.
  def interrupt_twice(server)
    server.signal(:INT)
    wait_until("INT is taken") { File.read("/proc/#{server.pid}/status")[/^ShdPnd:\s*(\h+)/, 1].to_i(16).zero? }
    server.signal(:INT)
  end

  # @yieldparam pid [Integer] of the worker
  def with_looping_worker(server)
    client = HttpClient.new(server.url)
    pid = client.get("/pid").body.to_i
    client.write("GET /ruby HTTP/1.1\r\nHost: a\r\n\r\n")
    server.wait_for(%r{began /ruby})
    yield pid
  ensure
    client&.close
  end
end

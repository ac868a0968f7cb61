# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# What ends a handler from outside: its deadline and its client; and what ends with it.
class CancellationTest < Minitest::Test
  APP = File.expand_path("../support/apps/cancellation.rb", __dir__)

  def teardown = @server&.stop

  def test_a_client_that_resets_cancels_its_request
    start
    send_and_reset("/waits")
    assert_event "waits ClientGone"
  end

  def test_a_client_that_only_stopped_sending_still_gets_its_answer
    start
    @server.connect do |client|
      client.write("GET /naps HTTP/1.1\r\nHost: a\r\n\r\n").socket.close_write
      assert_equal "slept", client.read_answer.body
    end
    assert_event "naps done"
  end

  def test_a_unix_client_that_closes_cancels_its_request
    Dir.mktmpdir do |folder|
      start(bind: "unix://#{folder}/elah.sock")
      client = HttpClient.new(@server.url).write("GET /waits HTTP/1.1\r\nHost: a\r\n\r\n")
      @server.get("/hello")
      client.close
      assert_event "waits ClientGone"
    end
  end

  def test_what_waits_under_a_request_ends_with_it
    start
    send_and_reset("/joins")
    assert_event "joins ClientGone"
    assert_event "child Cancelled"
  end

  def test_a_shield_lets_its_part_be_completed
    start
    send_and_reset("/shields")
    assert_event "inside done"
    assert_event "shields ClientGone"
  end

  def test_a_streamed_answer_whose_client_resets_is_cancelled_where_it_waits
    start
    send_and_reset("/streams") { |client| client.socket.wait_readable(60) }
    assert_event "streams ClientGone"
  end

  # The loop cancelled it a second time, within a quarter of a second: its `ensure` blocks were cut off.
  def test_a_handler_whose_write_raises_that_its_client_has_gone_may_clean_up
    start
    send_and_reset("/writes") { |client| client.socket.wait_readable(60) }
    assert_event "cleanup done"
    assert_event "writes ClientGone"
  end

  # Its deadline was that of the connection: without one it had none, and kept what it held for ever.
  def test_a_request_that_goes_on_without_its_client_has_its_deadline
    start(request_seconds: 1, cancel_gone: "none")
    send_and_reset("/waits")
    assert_event "waits DeadlineExceeded"
  end

  # A reset came between the charge and its record, and the handler was ended there.
  def test_a_client_that_resets_does_not_cancel_a_post
    start
    send_and_reset("/charges", verb: "POST")
    assert_event "charges done"
  end

  # It is for nobody else.
  def test_an_event_stream_ends_with_its_client_also_as_the_answer_to_a_post
    start
    send_and_reset("/events", verb: "POST") { |client| client.socket.wait_readable(60) }
    assert_event "posted events ClientGone"
  end

  # The fiber of its comments slept on for 15 seconds: of 14,000 short streams in that time the last ones were closed.
  def test_the_comments_of_an_event_stream_end_with_it
    start(spawned_max: 1)
    3.times { assert_equal "data: tick\n\n", @server.get("/ticks").body }
    send_and_reset("/events", verb: "POST") { |client| client.socket.wait_readable(60) }
    assert_event "posted events ClientGone"
    assert_equal "data: tick\n\n", @server.get("/ticks").body
  end

  # Every client that disconnected before the stream was an error in the log, and in the reports.
  def test_a_client_that_resets_before_its_event_stream_is_no_error
    start
    send_and_reset("/late_ticks", verb: "POST")
    assert_event "late ticks done"
    @server.stop
    refute_match(/ERROR|RequestFinished/, @server.log)
  end

  def test_the_option_cancels_every_method
    start(cancel_gone: "all")
    send_and_reset("/charges", verb: "POST")
    assert_event "charges ClientGone"
  end

  def test_the_option_lets_handlers_go_on
    start(cancel_gone: "none")
    send_and_reset("/naps")
    assert_event "naps done"
  end

  def test_what_a_request_started_ends_when_it_is_answered_unless_it_is_detached
    start
    assert_equal "answered", @server.get("/starts").body
    assert_event "started Cancelled"
    assert_event "detached done"
  end

  def test_requests_that_follow_each_other_in_one_fiber_have_their_own_children
    start
    @server.connect do |client|
      client.write("GET /starts HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
      10.times { assert_equal "answered", client.read_answer.body }
    end
    assert_event(/(started Cancelled.*){10}/)
  end

  def test_a_deadline_cancels_a_request_and_what_is_under_it
    start(request_seconds: 0.2)
    assert_equal [504, "deadline_exceeded"],
                 @server.get("/joins").then { |answer| [answer.status, answer.json["code"]] }
    assert_event "joins DeadlineExceeded"
    assert_event "child Cancelled"
    @server.wait_for(%r{GET /joins was cancelled after 0\.2 s})
  end

  def test_errors_of_the_handlers_own_bounds_have_their_status
    start(request_seconds: 30)
    assert_equal [504, "deadline_exceeded"],
                 @server.get("/times_out").then { |answer| [answer.status, answer.json["code"]] }
    assert_equal [503, "overloaded"], @server.get("/overloads").then { |answer| [answer.status, answer.json["code"]] }
    assert_equal "late", @server.get("/gathers").body
    assert_in_delta 30, Float(@server.get("/left").body), 15
    assert_equal "fine", @server.get("/fails").body
    assert @server.wait_for(/A spawned fiber failed.*unnoticed/m)
  end

  def test_what_is_called_again_and_again_from_the_boot_on_ends_with_the_worker
    Dir.mktmpdir do |folder|
      config = File.join(folder, "elah.rb")
      File.write(config, <<~RUBY)
        before_worker_boot do
          Elah.every(0.01) { CancellationApp.events << "tick" }
          Elah.async do
            sleep
          rescue Elah::Cancelled => e
            warn "ended: \#{e.message}"
          end
        end
      RUBY
      start(config: config)
      assert_event(/tick,tick,tick/)
      @server.stop
      assert_match(/ended: The worker exits\./, @server.log)
    end
  end

  private

  def start(**options)
    @server = ElahServer.start(APP, log_level: "debug", **options)
  end

  # Sends a request, waits until it runs (or as the block says), and resets the connection.
  def send_and_reset(path, verb: "GET")
    client = HttpClient.new(@server.url)
    client.write("#{verb} #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
    block_given? ? yield(client) : @server.get("/hello")
    client.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    client.close
  end

  def assert_event(event)
    give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    @server.connect do |client|
      until (events = client.get("/events").body).match?(event)
        if Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
          flunk "#{event} is not in #{events}\n#{@server.log}"
        end
      end
    end
    pass
  end
end

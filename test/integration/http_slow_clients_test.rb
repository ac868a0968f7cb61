# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/process_memory"
require_relative "../support/raw_exchange"
require_relative "../support/patience"

# Clients that are slow on purpose, over real sockets: each is closed within its bound, costs a bounded amount of
# memory, and leaves the others alone. The bounds are made short by options; a test waits for the server to close, not
# for a time.
class HttpSlowClientsTest < Minitest::Test
  include Patience
  include RawExchange

  APP = File.expand_path("../support/apps/echo.rb", __dir__)
  TIMES = { header_seconds: 1, body_seconds: 1, keepalive_seconds: 1, write_seconds: 1 }.freeze

  Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)

  # What a busy machine may add to a bound.
  LATE_SECONDS = 30

  def test_a_silent_connection_is_closed_without_a_word
    serve { |server| closing_after(1) { assert_empty collected(server, "").answers } }
  end

  def test_an_empty_line_is_silence
    serve { |server| closing_after(1) { assert_empty collected(server, "\r\n").answers } }
  end

  # One that went on was never closed, and a stop lasted as long as `drain_seconds`.
  def test_an_empty_line_keeps_no_connection_open
    ["", get].each do |before|
      serve(drain_seconds: 60) do |server|
        server.connect do |client|
          client.write(before).write("\r\n")
          client.read_answer unless before.empty?
          closing_after(1) { assert_predicate client, :closed_by_server? }
        end
      end
    end
  end

  def test_half_a_head_is_answered_408
    serve do |server|
      closing_after(1) { assert_refused 408, "header_timeout", collected(server, "GET / HTTP/1.1\r\nHost: a\r\nX") }
    end
  end

  def test_a_head_that_drips_is_answered_408
    serve { |server| closing_after(1) { assert_refused 408, "header_timeout", drip(server, get("X: #{'x' * 5000}")) } }
  end

  def test_a_head_that_drips_after_a_good_request_is_answered_408
    serve do |server|
      outcome = closing_after(1) { drip(server, get("X: #{'x' * 5000}"), after: get) }
      assert_equal [200, 408], outcome.statuses
      assert_refused 408, "header_timeout", outcome
    end
  end

  # The server's first read cuts the last head, and it reads no further while a request runs: that was a 408.
  def test_a_pipelined_head_has_its_time_once_the_server_waits_for_it
    serve do |server|
      server.connect do |client|
        client.write(get(target: "/sleep?2") + get("X: #{'x' * 1950}") * 5)
        assert_equal [200] * 6, Array.new(6) { client.read_answer.status }
      end
    end
  end

  def test_a_stalled_body_is_answered_408
    serve do |server|
      closing_after(1) { assert_refused 408, "body_timeout", collected(server, post("Content-Length: 5", body: "hel")) }
      closing_after(1) { assert_refused 408, "body_timeout", collected(server, post_chunked("5\r\nhel")) }
      closing_after(1) { assert_refused 408, "body_timeout", collected(server, post_chunked("5;ext")) }
      assert_equal "0", server.get("/seen").body
    end
  end

  def test_a_body_that_drips_is_answered_408
    serve do |server|
      closing_after(1) do
        assert_refused 408, "body_timeout", drip(server, "x" * 5000, after: post("Content-Length: 5000"))
      end
    end
  end

  def test_a_client_that_waits_to_continue_and_sends_nothing_is_answered_408
    serve do |server|
      outcome = closing_after(1) { collected(server, post("Content-Length: 5", "Expect: 100-continue")) }
      assert_equal [100, 408], outcome.statuses
    end
  end

  def test_a_body_that_comes_slowly_but_comes_is_taken
    serve(body_seconds: 1.5) do |server|
      server.connect do |client|
        client.write(post("Content-Length: 4800"))
        8.times do
          client.socket.wait_readable(0.3)
          client.write("x" * 600)
        end
        assert_equal 4800, client.read_answer.json["body"].bytesize
      end
    end
  end

  def test_an_idle_connection_is_closed
    serve do |server|
      outcome = closing_after(1) { collected(server, get) }
      assert_equal [200], outcome.statuses
    end
  end

  def test_a_handler_and_a_stream_may_take_longer_than_an_idle_connection
    serve do |server|
      server.connect do |client|
        assert_equal "slept", client.get("/sleep?2").body
        assert_equal 200, client.get("/").status
      end
    end
  end

  def test_a_client_that_does_not_read_is_closed
    serve do |server|
      server.connect do |client|
        closing_after(1) do
          client.write(get(target: "/stream?50000000"))
          assert_equal "gone", server.get("/gone").body
        end
        assert_raises(HttpClient::Closed) { client.read_answer }
      end
    end
  end

  # The kernel reports room only when a third of its buffer is free, or three quarters for a Unix socket. These clients
  # need longer than the bound to read as much.
  def test_clients_that_read_slowly_all_the_time_get_everything
    pause, _writer = IO.pipe
    Dir.mktmpdir do |folder|
      address = "unix://#{folder}/elah.sock"
      serve(write_seconds: 4, bind: ["tcp://127.0.0.1:0", address]) do |server|
        pieces = { HttpClient.open(server.url) => 2000, HttpClient.open(address) => 500 }
        pieces.each_key { |client| client.write(get(target: "/long")).read_head }
        taken = Hash.new(0)
        quick_at = monotonic + 12
        while monotonic < quick_at
          pieces.each { |client, bytes| taken[client] += client.socket.recv(bytes).bytesize }
          pause.wait_readable(0.02)
        end
        taken.each { |client, bytes| client.read_bytes(50_000_000 - bytes) }
      ensure
        pieces&.each_key(&:close)
      end
    end
  end

  def test_slow_readers_of_a_stream_of_50_MB_cost_little_memory_and_get_it_all
    assert_cheap_to_read_slowly("/stream?50003968", 50_003_968) { |client| client.read_chunk.bytesize }
  end

  def test_slow_readers_of_a_string_of_50_MB_cost_little_memory_and_get_it_all
    assert_cheap_to_read_slowly("/long", 50_000_000) { |client| client.read_bytes(100_000).bytesize }
  end

  def test_a_long_string_is_not_sent_for_HEAD
    serve do |server|
      answer = server.request("HEAD", "/long")
      assert_equal [200, "50000000", ""], [answer.status, answer["content-length"], answer.body]
    end
  end

  def test_hostile_requests_cost_no_more_than_their_bounds
    serve(header_seconds: 10, body_seconds: 10) do |server|
      hostile = ["GET / HTTP/1.1\r\nX: #{'x' * 16_000}", "GET /#{'a' * 8000}", post_chunked("5;#{'e' * 1000}"),
                 post_chunked("0\r\nX: #{'x' * 8000}"), post("Content-Length: 1000000", body: "x" * 60_000)]
      hold(server, hostile, 100) { nil }
      before = ProcessMemory.resident_bytes(server.pid)
      hold(server, hostile, 500) do
        grown = ProcessMemory.resident_bytes(server.pid) - before
        assert_operator grown / 500, :<, 65_536, "500 hostile connections cost #{grown} bytes"
      end
    end
  end

  def test_a_flood_is_cut_off_at_its_bound
    floods = { 431 => "GET / HTTP/1.1\r\nX: #{'x' * 10_000_000}", 414 => "GET /#{'a' * 10_000_000}",
               400 => post_chunked("5;#{'e' * 10_000_000}"), 413 => post_chunked("fffffff\r\n#{'x' * 10_000_000}") }
    serve do |server|
      server.get("/")
      before = ProcessMemory.resident_bytes(server.pid)
      floods.each { |status, bytes| assert_includes [[status], []], flood(server, bytes).statuses }
      assert_operator ProcessMemory.resident_bytes(server.pid) - before, :<, 4_000_000
    end
  end

  def test_a_thousand_attackers_do_not_slow_the_others
    serve(header_seconds: 30, body_seconds: 30) do |server|
      alone = usual_of(200) { server.get("/") }
      beginnings = ["", "GET / HTTP/1.1\r\nHo", post("Content-Length: 9", body: "x"), post_chunked("5\r\nhel")]
      hold(server, beginnings, 1000) do
        beset = usual_of(200) { server.get("/") }
        puts "\nThe median of 200 requests: #{ms(alone)} alone, #{ms(beset)} beside 1000 attackers"
        assert_operator beset, :<, [alone * 10, 0.5].max
      end
    end
  end

  private

  def serve(**options, &block) = ElahServer.start(APP, **TIMES.merge(options), &block)

  def collected(server, bytes) = exchange(server, bytes)

  # Checks that the block, which waits for the server to close, takes as long as the bound, or a little longer.
  def closing_after(seconds)
    start = monotonic
    result = yield
    assert_includes (seconds * 0.9)..(seconds + LATE_SECONDS), monotonic - start
    result
  end

  # Twenty clients ask for a long answer and take a little of it; one then takes the rest.
  #
  # @yieldparam client [HttpClient] reads a piece
  # @yieldreturn [Integer] its bytes
  def assert_cheap_to_read_slowly(target, bytes, &read)
    serve(write_seconds: 10) do |server|
      server.get(target)
      before = ProcessMemory.resident_bytes(server.pid)
      clients = Array.new(20) { server.connect.write(get(target: target)).tap(&:read_head) }
      taken = Array.new(20) { clients.map(&read).last }.sum
      grown = ProcessMemory.resident_bytes(server.pid) - before
      puts "\n20 slow readers of #{bytes} bytes cost #{grown / 20} bytes each"
      assert_operator grown, :<, 20 * 500_000
      taken += yield clients.last while taken < bytes
      assert_equal bytes, taken
    ensure
      clients&.each(&:close)
    end
  end

  # Sends byte after byte until the server has an answer, so that the connection is never quiet.
  def drip(server, bytes, after: "")
    server.connect do |client|
      client.write(after)
      answers = after.start_with?("GET") ? [client.read_answer] : []
      bytes.each_char do |byte|
        client.write(byte)
        break if client.socket.wait_readable(0.01)
      end
      rest = collect(client)
      Outcome.new(answers: answers + rest.answers, closed: rest.closed)
    end
  end

  # Sends more than the server reads; its answer may be lost to the reset that this earns.
  def flood(server, bytes)
    server.connect do |client|
      writer = Thread.new { client.write(bytes) }
      writer.report_on_exception = false
      outcome = collect(client)
      writer.join(patience_seconds) or flunk "The server neither reads nor closes."
      outcome
    rescue Errno::EPIPE, Errno::ECONNRESET
      outcome || collect(client)
    end
  end

  # Holds `count` connections open, each with one of the texts sent, while the block runs.
  def hold(server, texts, count)
    clients = Array.new(count) { |index| server.connect.write(texts[index % texts.size]) }
    assert_equal 200, server.get("/").status
    yield
  ensure
    clients&.each(&:close)
  end

  # @return [Float] the seconds that half of `count` runs of the block stay below
  def usual_of(count)
    Array.new(count) do
      start = monotonic
      yield
      monotonic - start
    end.sort[count / 2]
  end

  def ms(seconds) = "#{(seconds * 1000).round(2)} ms"
end

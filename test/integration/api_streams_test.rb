# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/listener"
require "support/patience"

# The beginning and the end of streams of an Elah::API, over real sockets: as an app of its own, and behind Rack.
class APIStreamsTest < Minitest::Test
  include Patience

  API = <<~RUBY
    SILENCE = Elah::Broadcast.new
    BEATS = Queue.new

    class Cursor
      def each
        yield "row"
      end

      def close = warn("the cursor is closed")
    end

    class Streaming < Elah::API
      rescue_from(ArgumentError) { |e| error!("rescued: \#{e.message}", 422) }
      before { @connection = "open" }
      finally { @connection = "returned"; warn "finally \#{request.path}" }

      get(:events) { sse(keepalive_seconds: 0.02) { |events| events.push("first"); sleep } }
      get(:beats) { sse(keepalive_seconds: 0.3) { |events| loop { events.push(BEATS.pop) } } }
      post(:beats) { BEATS.push("beat"); "" }
      get(:short_events) { sse { |events| events.push("only") } }
      get(:silent_events) { sse { |_events| sleep } }
      get(:silent_broadcast) { broadcast SILENCE }
      get(:fed) do
        lefts = Queue.new
        Elah.async { 2.times { lefts << Elah.deadline.inspect && BEATS.pop } } # it begins before the response
        stream { |out| 2.times { out << lefts.pop << "\n" } }
      end
      get(:spawned) { Elah.async { "a word" }.value }
      get(:rows) { stream { |out| out << "the connection is " << @connection } }
      get(:empty) { stream { |_out| nil } }
      get(:fails) { stream { |_out| raise ArgumentError, "no rows" } }
      get(:halts) { stream { |_out| error!("no such row", 404) } }
      get(:fails_later) { stream { |out| out << "first"; raise ArgumentError, "no more rows" } }
      get(:cursor) { stream Cursor.new }
      get(:missing) { sendfile "/there/is/no/such/file" }
    end
  RUBY
  NATIVE = "#{API}\nrun Streaming\n"
  BEHIND_RACK = <<~RUBY
    #{API}
    use Rack::ETag
    run Streaming
  RUBY

  def each_server(**options)
    ElahServer.start(NATIVE, **options) { |server| yield server }
    ElahServer.start(BEHIND_RACK, extension: ".ru", **options) { |server| yield server }
  end

  # It kept that of the beginning, and could soon call no entity of another worker any more.
  def test_a_fiber_of_a_stream_has_no_deadline_either
    each_server do |server|
      server.connect do |client|
        client.write("GET /fed HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").read_head
        server.request("POST", "/beats")
        first, second = client.read_to_end.scan(/nil|\d+\.\d+/)
        assert_in_delta 60, Float(first), 50
        assert_equal "nil", second
      end
    end
  end

  def test_a_streamed_object_is_closed
    each_server do |server|
      assert_equal "row", server.get("/cursor").body
      server.wait_for(/the cursor is closed/)
    end
  end

  # The silence after an event was up to twice that time. One attempt in time is enough on a busy machine.
  def test_a_comment_comes_in_time_after_an_event
    ElahServer.start(NATIVE) do |server|
      listener = Listener.new(server, "/beats")
      silences = Array.new(10).lazy.map { listener.silence_after { server.request("POST", "/beats") } }
      assert(silences.any? { |seconds| seconds < 0.45 })
    end
  end

  # The client got a 200 and a broken stream, to which an EventSource connects again at once.
  def test_an_event_stream_for_which_there_is_no_fiber_gets_a_503
    each_server(spawned_max: 1) do |server|
      server.connect do |listener|
        listener.write("GET /events HTTP/1.1\r\nHost: a\r\n\r\n").read_head
        listener.read_chunk
        answer = server.get("/events")
        assert_equal [503, "overloaded", "1"], [answer.status, answer.json["code"], answer["retry-after"]]
        assert_equal 503, server.get("/spawned").status
      end
      refute_match(/ERROR/, server.log)
      wait_until("the fiber of the stream has ended") { server.get("/spawned").body == "a word" }
      2.times { assert_equal "data: only\n\n", server.get("/short_events").body }
    end
  end

  # An EventSource is open when it has the head. Behind a middleware it waited for the first event, or the keep-alive,
  # and behind Rack::ETag of Rack 2 for the last one.
  def test_the_head_of_an_event_stream_is_sent_before_the_first_event
    each_server do |server|
      %w[/silent_events /silent_broadcast].each do |path|
        server.connect do |listener|
          assert_equal 200, listener.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n").read_head.status
        end
      end
    end
  end

  # The connection was closed without any response.
  def test_an_exception_before_the_first_piece_has_a_response
    ElahServer.start(NATIVE) do |server|
      assert_equal [422, "rescued: no rows"], server.get("/fails").then { |answer| [answer.status, answer.body] }
      assert_equal [404, "no such row"], server.get("/halts").then { |answer| [answer.status, answer.body] }
      assert_equal 500, server.get("/missing").status
      assert_equal [200, ""], server.get("/empty").then { |answer| [answer.status, answer.body] }
      assert_raises(HttpClient::Closed) { server.get("/fails_later") }
    end
  end

  # Behind a middleware the block used a connection that `finally` had returned.
  def test_finally_runs_after_the_stream
    each_server do |server|
      assert_equal "the connection is open", server.get("/rows").body
      assert_equal "data: only\n\n", server.get("/short_events").body
      assert_raises(HttpClient::Closed) { server.get("/fails_later") }
      assert_equal 200, server.request("HEAD", "/rows").status
      assert_equal 200, server.get("/empty").status
      wait_until("the last hook has run") { server.log.include?("finally /empty") }
      assert_equal %w[/rows /short_events /fails_later /rows /empty], server.log.scan(/^finally (.*)/).flatten
    end
  end
end

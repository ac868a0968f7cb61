# frozen_string_literal: true

require "support/api_case"
require "tempfile"

# Streams under Rack; test/integration has them over sockets.
class APIStreamingTest < APICase
  def test_a_block_writes_pieces
    writing = api do
      get(:x) do
        content_type "text/csv"
        status 202
        stream { |out| out << "a,b\n" << 1; out.write(""); out.write(nil) }
      end
    end
    answer = get(writing, "/x")
    assert_equal [202, "a,b\n1", "text/csv", "no-cache"],
                 [answer.status, answer.body, answer.headers["content-type"], answer.headers["cache-control"]]
  end

  def test_error_in_a_stream_tells_status_and_message
    failing = api { get(:x) { stream { |_out| error!("no such row", 404) } } }
    _, _, body = failing.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/x", "QUERY_STRING" => "")
    halt = assert_raises(Elah::Framework::Halt) { body.each { nil } }
    assert_equal "error! was called with status 404: no such row", halt.message
  end

  def test_the_block_runs_when_the_server_asks
    ran = false
    lazy = api { get(:x) { stream { |_out| ran = true } } }
    _, _, body = lazy.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/x", "QUERY_STRING" => "")
    refute ran
    body.each { nil }
    assert ran
    ran = false
    assert_equal "", head(lazy, "/x").body
    refute ran
  end

  def test_objects_with_each_and_files_are_sent
    file = Tempfile.new("stream")
    file.write("x" * 40_000)
    file.flush
    sending = api do
      get(:each) { stream [1, :b, "c"].each }
      get(:file) { sendfile file.path }
      get(:wrong) { stream 5 }
      get(:wrong_file) { sendfile 5 }
    end
    assert_equal "1bc", get(sending, "/each").body
    assert_equal 40_000, get(sending, "/file").body.bytesize
    assert_raises(ArgumentError) { get(sending, "/wrong") }
    assert_raises(ArgumentError) { get(sending, "/wrong_file") }
  end

  class Rows
    attr_reader :closed

    def initialize(failing: false)
      @failing = failing
      @closed = 0
    end

    def each
      yield "row"
      raise IOError, "lost" if @failing
    end

    def close = @closed += 1
  end

  # A cursor kept its connection, and a file its descriptor.
  def test_an_object_is_closed_at_the_end_of_the_request
    rows = [Rows.new, Rows.new(failing: true), Rows.new]
    first, failing, unread = rows
    streaming = api do
      get(:first) { stream first }
      get(:failing) { stream failing }
      get(:unread) { stream unread }
    end
    assert_equal "row", get(streaming, "/first").body
    assert_raises(IOError) { get(streaming, "/failing") }
    head(streaming, "/unread")
    assert_equal [1, 1, 1], rows.map(&:closed)
  end

  def test_events
    ticking = api do
      get(:x) do
        sse do |events|
          events.push({ n: 1 }, id: 7, event: "tick", retry_ms: 500)
          events << "two\nlines" << ""
          events.comment "note\nmore"
          events.keep_alive
        end
      end
    end
    answer = get(ticking, "/x")
    assert_equal "text/event-stream", answer.headers["content-type"]
    assert_equal "id: 7\nevent: tick\nretry: 500\ndata: {\"n\":1}\n\ndata: two\ndata: lines\n\ndata: \n\n" \
                 ": note\n: more\n\n: keep-alive\n\n", answer.body
  end

  def test_an_event_field_stays_on_its_line
    sneaky = api { get(:x) { sse { |events| events.push("x", event: "a\ndata: evil", id: "1\r\n2") } } }
    assert_equal "id: 12\nevent: adata: evil\ndata: x\n\n", get(sneaky, "/x").body
  end
end

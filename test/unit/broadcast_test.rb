# frozen_string_literal: true

require "support/api_case"
require "support/patience"

# Broadcasts under a server that is not Elah's own, where each listener has a thread; test/integration has them under
# Elah's.
class BroadcastUnitTest < APICase
  include Patience

  def listen(source)
    app = api { get(:news) { broadcast source } }
    status, headers, body = app.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/news", "QUERY_STRING" => "")
    assert_equal [200, "text/event-stream"], [status, headers.transform_keys(&:downcase)["content-type"]]
    pieces = Queue.new
    thread = Thread.new { body.each { |piece| pieces << piece unless piece.empty? } } # an empty one begins the response
    [pieces, thread]
  end

  def test_each_listener_gets_what_is_pushed_until_the_broadcast_is_closed
    news = Elah::Broadcast.new(keeps_last: true)
    news.push({ n: 0 }, event: "tick", id: 1)
    listeners = Array.new(2) { listen(news) }
    listeners.each { |pieces, _| assert_equal "id: 1\nevent: tick\ndata: {\"n\":0}\n\n", pieces.pop }
    news.push("next")
    listeners.each { |pieces, _| assert_equal "data: next\n\n", pieces.pop }
    assert_equal 2, news.listeners # they were not counted
    news.close
    listeners.each { |_, thread| assert thread.join(patience_seconds) }
    assert_equal 0, news.listeners
  end

  def test_texts_of_any_encoding_are_sent_in_utf_8
    news = Elah::Broadcast.new(keeps_last: true)
    threads = ["\u00E9".b, "\u00E9".encode("ISO-8859-1"), "\u00E9".encode("UTF-16LE")].map do |text|
      news.push(text, event: text)
      pieces, thread = listen(news)
      assert_equal "event: \u00E9\ndata: \u00E9\n\n", pieces.pop
      thread
    end
    news.close
    threads.each { |thread| assert thread.join(patience_seconds) }
  end

  def test_bytes_that_are_no_text_are_refused
    news = Elah::Broadcast.new
    ["\xFF", "\xFF".b, "\xD8".dup.force_encoding("UTF-16LE")].each do |bytes|
      [-> { news.push(bytes) }, -> { news.push("a", event: bytes) }].each do |push|
        error = assert_raises(ArgumentError, &push)
        assert_match(/\AAn event must be text that is valid in its encoding, /, error.message)
      end
    end
  end

  def test_an_idle_stream_gets_comments
    pieces, thread = listen(news = Elah::Broadcast.new(keepalive_seconds: 0.001))
    assert_equal ": keep-alive\n\n", pieces.pop
    news.close
    assert thread.join(patience_seconds)
  end

  def test_who_is_slow_misses_the_oldest
    backlog = Elah::Broadcast::Backlog.new(2)
    place = backlog.place
    %w[a b c].each { |frame| backlog.push(frame) }
    assert_equal [3, %w[b c]], backlog.wait_after(place, 1)
    assert_equal [3, []], backlog.wait_after(3, 0.001)
    assert_equal 1, backlog.missed
  end
end

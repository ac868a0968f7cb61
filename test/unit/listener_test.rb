# frozen_string_literal: true

require "test_helper"

class ListenerTest < Minitest::Test
  def test_urls_are_read_and_written_back
    { "tcp://127.0.0.1:9292" => ["127.0.0.1", 9292, nil],
      "tcp://[::1]:0" => ["::1", 0, nil],
      "tcp://api-1.example.com:80" => ["api-1.example.com", 80, nil],
      "unix:///run/my app.sock" => [nil, nil, "/run/my app.sock"],
      "unix://tmp/app.sock" => [nil, nil, "tmp/app.sock"] }.each do |url, parts|
      listener = Elah::Listener.parse(url)
      assert_equal parts, [listener.host, listener.port, listener.path]
      assert_equal url, listener.to_s
      assert_equal url.start_with?("unix"), listener.unix?
    end
  end

  def test_what_is_no_url_is_refused
    ["", "9292", "127.0.0.1:9292", "tcp://127.0.0.1", "tcp://:80", "tcp://::1:80", "tcp://a:65536", "tcp://a:80/x",
     "http://a:80", "unix://", "unix://a\0b", "tcp://a b:80", "tcp://a:80\ntcp://b:80"].each do |text|
      assert_nil Elah::Listener.parse(text), text.inspect
    end
  end
end

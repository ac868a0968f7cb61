# frozen_string_literal: true

require "json"
require "rack/version"
require_relative "../test_helper"
require_relative "../support/elah_server"

# What the client gets for a Rack response of each form.
class RackResponseTest < Minitest::Test
  APP = File.expand_path("../support/apps/rack_responses.ru", __dir__)

  @server = ElahServer.start(APP)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_bodies_at_hand_have_a_length
    { "array" => "abc", "one" => "one", "nothing" => "", "numbers" => "12", "to_ary" => "ab",
      "wrong_length" => "three" }.each do |form, body|
      answer = get(form)
      assert_equal [200, body, body.bytesize.to_s, nil],
                   [answer.status, answer.body, answer["content-length"], answer["transfer-encoding"]], form
    end
  end

  # Behind a middleware, such a body was a 500.
  def test_parts_of_several_encodings_are_sent_as_they_are
    assert_equal "\u00e9\xff".b, get("encodings").body.b
  end

  # As those of Rails, of which an answer to a Range of ActiveStorage is one.
  def test_bodies_that_only_promise_to_be_at_hand
    assert_equal %w[ab ab], %w[to_ary_raises to_ary_enumerator].map { |form| get(form).body }
  end

  def test_long_bodies_at_hand_have_a_length
    assert get("long").body == "x" * 1_000_000
    assert get("many_long").body == (0..9).map { |n| n.to_s * 100_000 }.join
    assert_equal "1000000", get("many_long")["content-length"]
  end

  def test_a_status_may_be_a_string
    assert_equal [201, "created"], [get("string_status").status, get("string_status").body]
  end

  def test_a_status_that_is_no_number_is_an_error
    fails("long_status", /The app returned the status "200x"\. It must be an Integer, or a String of three digits\./)
    fails("short_status", /The app returned the status "20"\./)
  end

  def test_a_streamed_body_longer_than_its_content_length_is_cut_and_the_log_says_so
    %w[too_long_parts too_long_stream].each do |form|
      connect do |client|
        assert_equal "abc", client.get("/#{form}").body
        assert_equal "one", client.get("/one").body, "the connection goes on"
      end
      self.class.server.wait_for(%r{WARN .*GET /#{form} is longer than its content-length of 3 bytes})
    end
  end

  def test_a_streamed_body_shorter_than_its_content_length_closes_the_connection_and_the_log_says_so
    %w[too_short_parts too_short_stream].each do |form|
      assert_raises(HttpClient::Closed) { get(form) }
      self.class.server.wait_for(%r{WARN .*GET /#{form} ended after 3 of the 5 bytes of its content-length})
    end
  end

  def test_bodiless_statuses_have_neither_body_nor_length
    { "no_content" => 204, "not_modified" => 304 }.each do |form, status|
      connect do |client|
        answer = client.get("/#{form}")
        assert_equal [status, nil], [answer.status, answer["content-length"]]
        assert_equal "one", client.get("/one").body, "the connection goes on"
      end
    end
  end

  # RFC 9110 15.3.6: there is no content, and the head says so.
  def test_reset_content_has_a_length_of_zero
    %w[reset_content reset_content_each].each do |form|
      connect do |client|
        answer = client.get("/#{form}")
        assert_equal [205, "0", ""], [answer.status, answer["content-length"], answer.body], form
        assert_equal "one", client.get("/one").body, "the connection goes on"
      end
    end
  end

  def test_head_has_the_length_of_get_and_no_body
    { "array" => "3", "one" => "3", "head_length" => "11", "each_sized" => "4", "file" => "300000", "each" => nil,
      "nothing" => nil, "long" => "1000000", "call" => nil }.each do |form, length|
      connect do |client|
        answer = client.request("HEAD", "/#{form}")
        assert_equal [200, length], [answer.status, answer["content-length"]], form
        assert_equal "one", client.get("/one").body, "the connection goes on after #{form}"
      end
    end
  end

  def test_headers_of_rack_2
    lines = get("rack_2_headers").header_lines.reject { |name, _| %w[date content-length].include?(name) }
    assert_equal [%w[set-cookie a=1], %w[set-cookie b=2], %w[x-server rack.internal]], lines.sort
  end

  def test_headers_of_rack_3
    lines = get("rack_3_headers").header_lines.reject { |name, _| %w[date content-length].include?(name) }
    assert_equal [%w[set-cookie a=1], %w[set-cookie b=2], ["x-empty", ""]],
                 lines.map { |name, value| [name, value.to_s] }.sort
  end

  def test_headers_that_can_only_be_enumerated
    lines = get("pairs").header_lines.reject { |name, _| %w[date content-length].include?(name) }
    assert_equal [%w[x-a 1], %w[x-a 2], %w[x-b 3], %w[x-b 4]], lines.sort
  end

  def test_a_header_value_that_is_no_string
    assert_equal "5", get("integer_header")["x-number"]
  end

  def test_enumerable_bodies_are_chunked
    { "each" => "ab", "enumerator" => "0;1;2;", "lazy" => "1;2;3;", "external_enumerator" => "0;1;2;",
      "each_long" => "y" * 1_000_000 }.each do |form, body|
      answer = get(form)
      assert answer.body == body, form
      assert_equal ["chunked", nil], [answer["transfer-encoding"], answer["content-length"]]
    end
  end

  def test_enumerable_bodies_with_a_length_are_not
    answer = get("each_sized")
    assert_equal ["abcd", "4", nil], [answer.body, answer["content-length"], answer["transfer-encoding"]]
  end

  # An app that uses Rack::Chunked frames the body itself. It arrived framed twice once.
  def test_bodies_that_the_app_has_framed_arrive_unframed
    content = "part0;0\r\n\r\nnot the end\u20ac".b
    { "framed" => content, "framed_bytewise" => content, "framed_with_length" => content,
      "framed_with_trailers" => "hello" }.each do |form, body|
      answer = get(form)
      assert_equal [body, "chunked", nil], [answer.body, answer["transfer-encoding"], answer["content-length"]], form
    end
    assert_equal [200, ""], [get("framed_nothing").status, get("framed_nothing").body]
    assert_operator JSON.parse(get("closes/framed").body), :>=, 1
  end

  CHUNKED_APP = <<~RUBY
    require "rack/chunked"
    require "rack/lint"
    use Rack::Lint
    use Rack::Chunked
    use Rack::Lint
    run(lambda do |_|
      [200, { "Content-Type" => "text/plain" }, Enumerator.new { |parts| 3.times { |n| parts << "part\#{n};" } }]
    end)
  RUBY

  def test_rack_chunked
    skip "Rack #{Rack.release} has no Rack::Chunked." unless Rack.release < "3.1"
    ElahServer.start(CHUNKED_APP, extension: ".ru") do |server|
      assert_equal "part0;part1;part2;", server.get("/").body
      server.connect do |client|
        old = client.write("GET / HTTP/1.0\r\nHost: a\r\n\r\n").read_to_end
        assert_equal "part0;part1;part2;", old.split("\r\n\r\n", 2).last
      end
    end
  end

  def test_a_client_of_http_1_0_gets_such_a_body_without_chunks
    connect do |client|
      client.write("GET /framed HTTP/1.0\r\n\r\n")
      head, body = client.read_to_end.split("\r\n\r\n", 2)
      assert_equal "part0;0\r\n\r\nnot the end\u20ac".b, body
      refute_match(/transfer-encoding/i, head)
    end
  end

  def test_head_of_a_body_that_the_app_has_framed
    connect do |client|
      answer = client.request("HEAD", "/framed_bytewise")
      assert_equal [200, nil], [answer.status, answer["content-length"]]
      assert_equal "one", client.get("/one").body, "the connection goes on"
    end
  end

  def test_what_an_app_calls_framed_and_is_not_is_an_error
    fails("unframed", /InvalidRackResponse: The app sent transfer-encoding: chunked, but its body has no valid chunks/)
    fails("framed_beyond_bounds", /InvalidRackResponse: .* a line is "ffffffffffffffff/)
    connect do |client|
      client.write("GET /framed_and_cut HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_raises(HttpClient::Closed) { client.read_answer }
    end
  end

  # RFC 9112 4 lets a reason phrase be empty.
  def test_a_status_without_a_name
    connect do |client|
      client.write("GET /status_449 HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal "HTTP/1.1 449 ", client.read_until("\r\n")
    end
  end

  def test_an_enumerable_body_may_yield_nothing
    assert_equal [200, ""], [get("each_nothing").status, get("each_nothing").body]
  end

  def test_streaming_bodies
    assert_equal "abc1", get("call").body
    assert_equal "later", get("call_unclosed").body
    assert_equal "said", self.class.server.request("POST", "/call_echo", body: "said").body
  end

  def test_a_closed_stream_says_so
    assert_equal "false", get("call_closed").body
    assert_equal [true, "IOError"], finished("call_closed", 2)
  end

  def test_files
    answer = get("file")
    assert_equal "300000", answer["content-length"]
    assert answer.body == "0123456789" * 30_000
  end

  # As in Rails after `send_file Rails.root.join("file")`.
  def test_a_file_with_a_pathname
    assert get("file_pathname").body == "0123456789" * 30_000
  end

  # As in Rack::Files: the path of a request is binary. Any name with a letter outside ASCII was a 500.
  def test_a_file_whose_name_is_binary
    assert_equal "named", get("file_binary").body
  end

  # The rest of a File that was read was the whole of it.
  def test_a_file_of_which_a_part_is_sent_is_read_through_the_body
    assert_equal "789", get("file_rest").body
    assert_equal "abc", get("file_part").body
    assert_equal [206, "abc"], get("file_range").then { |answer| [answer.status, answer.body] }
  end

  def test_what_is_no_file_is_read_through_the_body
    assert_equal "instead", get("file_missing").body
    assert_equal "instead", get("file_folder").body
    assert_equal File.read("/proc/version"), get("file_of_proc").body # its size is 0
  end

  def test_a_missing_file_is_an_error
    fails("file_missing_and_unreadable", /Errno::ENOENT/)
  end

  def test_what_the_app_raises_is_a_500_and_the_connection_goes_on
    problem = fails("raises", /RuntimeError: the secret/)
    refute_includes problem, "secret"
    log = self.class.server.log
    request = /Request #{Regexp.escape(problem['request_id'])} GET \/raises/
    assert_match(/#{request} failed: RuntimeError: the secret\n +\S+rack_responses\.ru/, log)
  end

  def test_a_body_that_fails_before_its_first_part_is_a_500
    fails("fails_at_once", /no first part/)
  end

  def test_a_body_that_fails_later_breaks_the_connection
    %w[fails_later call_fails].each do |form|
      connect do |client|
        client.write("GET /#{form} HTTP/1.1\r\nHost: a\r\n\r\n")
        assert_equal 200, client.read_head.status
        assert_equal "part", client.read_chunk
        get("go_on")
        assert_raises(HttpClient::Closed) { client.read_chunk }
      end
    end
  end

  def test_asynchronous_responses_are_refused
    fails("throws", /InvalidRackResponse: The app threw :async\. Elah does not serve asynchronous responses/)
    fails("minus_one", /InvalidRackResponse: The app returned the status -1\. Elah does not serve/)
    fails("throws_else", /UncaughtThrowError: uncaught throw :something/)
  end

  def test_what_is_no_response_is_refused
    rule = /An app must return a status, headers that respond to each, and a body/
    fails("nil", /InvalidRackResponse: #{rule}; this one returned nil, NilClass and NilClass/)
    fails("string_body", /InvalidRackResponse: A body responds to each or call; String does not/)
    fails("nil_body", /InvalidRackResponse: A body responds to each or call; NilClass does not/)
    fails("status_99", /InvalidStatus: 99 is not the status of a response/)
  end

  def test_headers_cannot_be_injected
    fails("header_break", /InvalidHeader: The value of the response header "X-Evil"/)
    fails("header_name", /InvalidHeader: The name of the response header "X Evil"/)
  end

  def test_pipelined_requests_of_all_forms_are_answered_in_order
    forms = { "one" => "one", "each" => "ab", "call" => "abc1", "file_part" => "abc", "array" => "abc" }
    connect do |client|
      client.write(forms.keys.map { |form| "GET /#{form} HTTP/1.1\r\nHost: a\r\n\r\n" }.join)
      assert_equal forms.values, forms.map { client.read_answer.body }
    end
  end

  private

  def connect(&block) = self.class.server.connect(&block)

  def get(form) = self.class.server.get("/#{form}")

  def finished(name, count)
    loop do
      seen = self.class.server.get("/finished/#{name}").json
      return seen if seen.size >= count
    end
  end

  # @return [Hash] the problem
  def fails(form, logged)
    connect do |client|
      answer = client.get("/#{form}")
      assert_equal [500, "application/problem+json", "internal_error"],
                   [answer.status, answer["content-type"], answer.json["code"]]
      assert_equal "one", client.get("/one").body, "the connection goes on"
      self.class.server.wait_for(logged)
      answer.json
    end
  end
end

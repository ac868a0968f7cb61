# frozen_string_literal: true

require "support/api_case"

# Headers in and out.
class APIHeadersTest < APICase
  def test_response_headers_are_lower_case_and_found_in_any_case
    headers = Elah::Framework::ResponseHeaders.new
    headers["X-One"] = 1
    headers.merge!("X-Two" => %w[a b])
    assert_equal({ "x-one" => "1", "x-two" => %w[a b] }, headers)
    assert_equal "1", headers["X-ONE"]
    assert headers.key?("x-One")
    assert_equal "1", headers.fetch("X-one")
    headers["x-ONE"] = nil
    refute headers.key?("x-one")
    assert_equal %w[a b], headers.delete("X-Two")
  end

  def test_request_headers_are_spelled_as_grape_spells_them
    headers = Elah::Framework::RequestHeaders.from({ "x-api-key" => "k", "content-type" => "text/plain" })
    assert_equal %w[X-Api-Key Content-Type], headers.keys
    assert_equal "k", headers["x-api-key"]
    assert_equal "k", headers["X_API_KEY"]
    assert_equal "k", headers.fetch("x-API-key")
    assert_nil headers["none"]
    assert headers.key?("content-type")
  end

  def test_equal_prepared_headers_are_one_object
    one = Elah::Framework::PreparedHeaders.set({ "content-type" => "text/x-once" })
    assert_same one, Elah::Framework::PreparedHeaders.set({ "content-type" => "text/x-once" })
    assert_equal({ "content-type" => "text/x-once" }, one.to_h)
  end

  def test_a_header_cannot_be_smuggled_in_by_a_value
    smuggler = api { get(:x) { header "X-Name", "a\r\nX-Evil: 1"; "x" } }
    assert_raises(Elah::InvalidHeader) { get(smuggler, "/x") }
  end

  # The second one was a 500.
  def test_the_helpers_of_rack_set_and_delete_several_cookies
    require "rack"
    baker = api do
      get(:x) do
        %w[a b c].each { |name| Rack::Utils.set_cookie_header!(header, name, "1") }
        Rack::Utils.delete_cookie_header!(header, "b")
        cookies["d"] = "1"
        "x"
      end
    end
    sent = get(baker, "/x").headers["set-cookie"]
    lines = (sent.is_a?(Array) ? sent : sent.split("\n")).grep_v(/\Ab=1/)
    assert_equal %w[a=1 c=1 b= d=1], lines.map { |line| line[/\A[^;]+/] }
  end

  def test_a_cookie_cannot_be_smuggled_in_by_a_value
    ["a=1\nevil=1", "a=1\n", "\na=1", "known=1\na=1\nevil=1", "known=1\r\na=1", "known=1\na=1\r"].each do |value|
      smuggler = api { get(:x) { header("Set-Cookie", "known=1") && header("Set-Cookie", value) && "x" } }
      assert_raises(Elah::InvalidHeader, value.inspect) { get(smuggler, "/x") }
    end
  end
end

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
end

# frozen_string_literal: true

require_relative "../test_helper"

# A key that clients send.
class ApiKeyTest < Minitest::Test
  Asked = Struct.new(:headers) do
    def header(name) = headers[name]
  end

  def offered(**headers) = Elah::ApiKey.offered(Asked.new(headers.transform_keys { |name| name.to_s.tr("_", "-") }))

  def test_a_key_matches_itself_alone
    key = Elah::ApiKey.new("s3cret")
    assert key.match?("s3cret")
    [nil, "", "s3cre", "s3cret ", "S3cret", "s3cretx"].each { |offered| refute key.match?(offered), offered.inspect }
    refute_includes key.inspect, "s3cret"
  end

  # `--set links_api_key=$KEY` with the variable unset let in whoever sent an empty header.
  def test_an_empty_key_is_refused
    error = assert_raises(Elah::OptionError) { Elah::ApiKey.new("") }
    assert_match(/The API key is empty/, error.message)
  end

  # A setting that is not set was a NoMethodError without a word about the key.
  def test_what_is_no_text_is_refused
    assert_match(/The API key is nil/, assert_raises(Elah::OptionError) { Elah::ApiKey.new(nil) }.message)
    error = assert_raises(TypeError) { Elah::ApiKey.new([271_828]) }
    assert_match(/must be a String, not Array/, error.message)
  end

  def test_it_comes_in_either_header
    assert_equal "s3cret", offered(x_api_key: "s3cret")
    assert_equal "s3cret", offered(authorization: "bearer  s3cret ")
    assert_equal "s3cret", offered(x_api_key: "", authorization: "Bearer s3cret")
    assert_equal "mine", offered(x_api_key: "mine", authorization: "Bearer other")
  end

  def test_another_scheme_offers_none
    assert_nil offered
    assert_nil offered(authorization: "Basic czpz")
    assert_nil offered(authorization: "Bearer two words")
  end
end

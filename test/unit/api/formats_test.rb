# frozen_string_literal: true

require "support/api_case"

# Which format an answer has.
class APIFormatsTest < APICase
  def test_only_one_format_needs_no_negotiation
    assert formats { format :json }.single?
    refute formats { default_format :json }.single?
    refute formats { format :json; content_type :csv, "text/csv" }.single?
  end

  def test_extension_query_fixed_format_accept_and_default_in_this_order
    many = formats { default_format :txt }
    assert_equal :json, negotiate(many, "/a.json", query: "format=txt")
    assert_equal :txt, negotiate(many, "/a", query: "x=1&format=txt", accept: "application/json")
    assert_equal :json, negotiate(many, "/a", accept: "text/html, application/json;q=0.5")
    assert_equal :json, negotiate(many, "/a", accept: "application/vnd.acme+json")
    assert_equal :txt, negotiate(many, "/a.unknown")
    assert_equal :txt, negotiate(many, "/a", accept: "image/png")
  end

  def test_a_format_that_is_not_spoken_is_406
    halt = assert_raises(Elah::API::Halt) { negotiate(formats { format :json }, "/a", query: "format=xml") }
    assert_equal [406, "The requested format 'xml' is not supported."], [halt.status, halt.body]
  end

  def test_an_object_that_has_no_text_is_no_text
    texts = api do
      get(:object) { Object.new }
      get(:shown) { 1..3 }
      get(:struct) { Struct.new(:x).new(1) }
    end
    answer = get(texts, "/object")
    assert_equal [500, "cannot convert Object to txt: define to_s or to_txt in it, or return a String"], [answer.status, answer.body]
    assert_equal "1..3", get(texts, "/shown").body
    assert_equal "#<struct x=1>", get(texts, "/struct").body
  end

  def test_many_accept_headers_are_not_remembered_for_ever
    many = formats { default_format :txt }
    2_000.times { |n| negotiate(many, "/a", accept: "text/x-#{n}") }
    assert_operator many.instance_variable_get(:@accepts).size, :<=, 256
  end

  def test_body_formats
    many = formats { default_format :json }
    assert_equal :json, many.body_format("application/json")
    assert_equal :json, many.body_format(nil)
    halt = assert_raises(Elah::API::Halt) { many.body_format("application/x-unknown") }
    assert_equal 415, halt.status
  end

  def test_an_unknown_format_is_a_wrong_definition
    error = assert_raises(Elah::API::DefinitionError) { api { format :yaml } }
    assert_match(/The format yaml has no content type. Known are xml, serializable_hash, json, binary, txt/, error.message)
  end

  def test_serializable_hash
    model = Struct.new(:name) { def serializable_hash = { name: name } }
    models = api do
      format :serializable_hash
      get(:one) { model.new("a") }
      get(:many) { { list: [model.new("a"), 1] } }
    end
    assert_equal({ "name" => "a" }, get(models, "/one").json)
    assert_equal({ "list" => [{ "name" => "a" }, 1] }, get(models, "/many").json)
  end

  private

  def formats(&block) = Elah::API::Formats.new(Elah::API::Settings.new(api(&block).captured_layers))

  def negotiate(formats, path, query: "", accept: nil)
    env = { "PATH_INFO" => path, "QUERY_STRING" => query }
    env["HTTP_ACCEPT"] = accept if accept
    formats.negotiate(Elah::API::RackRequest.new(env))
  end
end

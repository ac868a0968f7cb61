# frozen_string_literal: true

require "support/api_case"
require "delegate"

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
    halt = assert_raises(Elah::Framework::Halt) { negotiate(formats { format :json }, "/a", query: "format=xml") }
    assert_equal [406, "The requested format 'xml' is not supported."], [halt.status, halt.body]
  end

  def test_an_object_that_has_no_text_is_no_text
    texts = api do
      get(:object) { Object.new }
      get(:delegator) { SimpleDelegator.new(SimpleDelegator.new(Object.new)) }
      get(:shown) { 1..3 }
      get(:struct) { Struct.new(:x).new(1) }
    end
    { "/object" => "Object", "/delegator" => "SimpleDelegator" }.each do |path, name|
      response = get(texts, path)
      assert_equal [500, "cannot convert #{name} to txt: define to_s or to_txt in it, or return a String"],
                   [response.status, response.body]
    end
    assert_equal "1..3", get(texts, "/shown").body
    assert_equal "#<struct x=1>", get(texts, "/struct").body
  end

  # Grape's way to read the header, with regular expressions.
  def test_accept_headers_choose_what_grape_would_choose
    many = formats { default_format :txt }
    random = Random.new(7)
    parts = ["application/json", "application/xml", "text/plain", "application/vnd.acme-v1+json", "vnd.", "image/png",
             "*/*", "text", "/", ",", ";q=0.5", "; q=.9", ";q=1", ";Q=1", ";q=", ";x=1", " ", "\t", "+", "-",
             "é", "€", "_"]
    3_000.times do
      accept = Array.new(random.rand(1..8)) { parts.sample(random: random) }.join
      assert_equal grape_choice(accept) || :txt, negotiate(many, "/a", accept: accept), accept.inspect
    end
  end

  def test_every_format_is_written_as_its_formatter_says
    many = api do
      content_type :json, "application/json"
      content_type :txt, "text/plain; charset=utf-8"
      content_type :csv, "text/csv"
      formatter :csv, ->(object, _env) { object.to_a.join(",") }
      default_format :txt
      get(:pairs) { { "a" => 1 } }
      get(:header) { content_type("application/json") && "text" }
    end
    written = { "application/json" => ["application/json", '{"a":1}'], "text/csv" => ["text/csv", "a,1"],
                nil => ["text/plain; charset=utf-8", { "a" => 1 }.to_s] }
    written.each do |accept, expected|
      response = get(many, "/pairs", headers: accept ? { "Accept" => accept } : {})
      assert_equal expected, [response.headers["content-type"], response.body]
    end
    assert_equal ["application/json", '"text"'],
                 get(many, "/header").then { |response| [response.headers["content-type"], response.body] }
  end

  def test_body_formats
    many = formats { default_format :json }
    assert_equal :json, many.body_format("application/json")
    assert_equal :json, many.body_format(nil)
    halt = assert_raises(Elah::Framework::Halt) { many.body_format("application/x-unknown") }
    assert_equal 415, halt.status
  end

  def test_an_unknown_format_is_a_wrong_definition
    error = assert_raises(Elah::API::DefinitionError) { api { format :yaml } }
    assert_match(/The format yaml has no content type. Known are xml, serializable_hash, json, binary, txt/,
                 error.message)
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

  def formats(&block) = Elah::Framework::Formats.new(Elah::Framework::Settings.new(api(&block)._captured_layers))

  # As the gem reads the header.
  def grape_choice(accept)
    accept.split(",").filter_map { |range| (type = range[%r{\b\w++/[\w+.-]+}]) && [type, range[/;\s*q=([\d.]+)/, 1]] }
          .each_with_index.sort_by { |(_, quality), index| [-quality.to_f, index] }
          .flat_map { |(type, _), _| [type, type.sub(%r{/vnd\.[^+]+\+}, "/")] }
          .filter_map { |type| MEDIA_TYPES[type] }.first
  end

  MEDIA_TYPES = { "application/xml" => :xml, "application/json" => :json, "application/octet-stream" => :binary,
                  "text/plain" => :txt }.freeze
  private_constant :MEDIA_TYPES

  def negotiate(formats, path, query: "", accept: nil)
    env = { "PATH_INFO" => path, "QUERY_STRING" => query }
    env["HTTP_ACCEPT"] = accept if accept
    formats.negotiate(Elah::Framework::RackRequest.new(env)).format
  end
end

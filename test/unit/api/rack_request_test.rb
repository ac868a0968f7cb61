# frozen_string_literal: true

require "support/api_case"
require "open3"
require "rbconfig"

# A Rack environment seen as a request, and the headers that go back.
class APIRackRequestTest < APICase
  def test_reads_the_environment
    request = Elah::Framework::RackRequest.new(
      "REQUEST_METHOD" => "PUT", "PATH_INFO" => "/a", "QUERY_STRING" => "b=1", "CONTENT_TYPE" => "text/plain",
      "CONTENT_LENGTH" => "3", "HTTP_X_API_KEY" => "k", "HTTP_HOST" => "example.org", "REMOTE_ADDR" => "127.0.0.1",
      "rack.url_scheme" => "https", "rack.input" => StringIO.new("abc"), "SERVER_PROTOCOL" => "HTTP/1.1",
      "HTTP_VERSION" => "HTTP/1.1" # of Rack 2, and no header
    )
    assert_equal ["PUT", "/a", "b=1", "text/plain", 3, "k", "example.org", "127.0.0.1", "https", "HTTP/1.1"],
                 [request.request_method, request.path, request.query_string, request.content_type,
                  request.content_length, request.header("x-api-key"), request.host, request.remote_ip,
                  request.scheme, request.protocol]
    assert_equal %w[abc abc], [request.body, request.body]
    assert_equal Encoding::BINARY, request.body.encoding
    assert_equal({ "x-api-key" => "k", "host" => "example.org", "content-type" => "text/plain",
                   "content-length" => "3" }, request.headers)
    refute_empty request.id
    assert_equal request.id, request.id
  end

  # Bytes that are no text failed the JSON of every problem.
  def test_only_an_id_that_the_server_accepts_too_is_taken_from_a_header
    id = ->(env) { Elah::Framework::RackRequest.new(env).id }
    assert_equal "f058-4d3f@edge.1", id.call("HTTP_X_REQUEST_ID" => "f058-4d3f@edge.1")
    assert_equal "rails", id.call("HTTP_X_REQUEST_ID" => "r-1", "action_dispatch.request_id" => "rails")
    ["", "\xFF", "\xFF".b, "a b", "x" * 129].each { |given| refute_equal given, id.call("HTTP_X_REQUEST_ID" => given) }
  end

  def test_yields_the_body_in_pieces
    request = Elah::Framework::RackRequest.new("rack.input" => StringIO.new("x" * 20_000))
    sizes = []
    request.each_body_chunk { |piece| sizes << piece.bytesize }
    assert_equal [16_384, 3_616], sizes
  end

  # Rack::MethodOverride reads the form. Rack 3 leaves the input at its end, so that all parameters were missing.
  def test_a_body_that_a_middleware_has_read_is_read_from_its_beginning
    read = -> { StringIO.new("name=ann").tap(&:read) }
    assert_equal "name=ann", Elah::Framework::RackRequest.new("rack.input" => read.call).body
    pieces = []
    Elah::Framework::RackRequest.new("rack.input" => read.call).each_body_chunk { |piece| pieces << piece }
    assert_equal ["name=ann"], pieces
    assert_equal "ann", api { post(:names) { params[:name] } }.then { |names|
      names.call("REQUEST_METHOD" => "POST", "PATH_INFO" => "/names", "QUERY_STRING" => "", "rack.input" => read.call,
                 "CONTENT_TYPE" => "application/x-www-form-urlencoded")[2].join
    }
  end

  def test_an_empty_path_is_the_root
    assert_equal "/", Elah::Framework::RackRequest.new("PATH_INFO" => "").path
    assert_equal "root", get(api { get("/") { "root" } }, "").body
  end

  def test_a_server_without_input_is_fine
    plain = api { post(:x) { params.to_h.inspect } }
    status, = plain.call("REQUEST_METHOD" => "POST", "PATH_INFO" => "/x", "QUERY_STRING" => "")
    assert_equal 201, status
  end

  def test_headers_are_spelled_as_the_loaded_rack_wants_them
    source = 'class A < Elah::API; get(:x) { header "X-Multi", %w[a b]; "x" }; end; ' \
             'puts Elah::JSON.generate(A.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/x", "QUERY_STRING" => "")[1])'
    assert_equal({ "x-multi" => %w[a b], "content-type" => "text/plain" }, headers_of(source))
    rack_2 = "module Rack; def self.release = '2.2'; end; "
    assert_equal({ "X-Multi" => "a\nb", "Content-Type" => "text/plain" }, headers_of(rack_2 + source))
    rack_3 = "module Rack; class Headers; end; end; "
    assert_equal({ "x-multi" => %w[a b], "content-type" => "text/plain" }, headers_of(rack_3 + source))
  end

  private

  # Which Rack is loaded is a matter of the process.
  def headers_of(source)
    lib = File.expand_path("../../../lib", __dir__)
    output, status = Open3.capture2e(RbConfig.ruby, "-I#{lib}", "-relah", "-e", source)
    assert status.success?, output
    Elah::JSON.parse(output)
  end
end

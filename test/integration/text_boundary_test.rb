# frozen_string_literal: true

# The encodings of docs/codecs.md: what a handler gets from each part of a request, and what becomes of text in any
# encoding that a handler raises or answers with.
require "test_helper"
require "json"
require "support/elah_server"

class TextBoundaryTest < Minitest::Test
  TEXT = "𝛑 größe 日本 🎉"
  ENCODED = TEXT.b.gsub(/[^a-z]/n) { |byte| format("%%%02X", byte.ord) }

  APP = <<~'RUBY'
    require "elah/api"
    class Probe < Elah::API
      format :json
      error_format :problem
      TEXT = "𝛑 größe 日本 🎉"
      MESSAGES = { "utf16" => TEXT.encode("UTF-16LE"), "broken" => "a\xFFb", "binary" => TEXT.b,
                   "latin" => "größe".encode("ISO-8859-1") }.freeze

      helpers do
        def shown(value)
          case value
          when Hash then value.to_h { |name, inner| ["#{name}: #{name.encoding}", shown(inner)] }
          when Array then value.map { |inner| shown(inner) }
          when String then [value.encoding.to_s, value.valid_encoding?, value.bytes.pack("C*").unpack1("H*")]
          else value.to_s
          end
        end
      end

      route %i[get post], "seen/:name" do
        status 200
        names = %w[x-utf8 x-bytes x-ascii]
        { params: shown(params.to_h), headers: shown(names.to_h { |name| [name, request.header(name)] }),
          all: shown(request.headers.slice(*names)), cookies: shown(cookies.to_h), path: shown(request.path),
          query: shown(request.query_string), route: shown(request.route_param("name")),
          method: shown(request.request_method), body: shown(request.body), ip: shown(request.remote_ip) }
      end

      get("raise/:kind") do
        message = MESSAGES.fetch(params[:kind])
        raise params[:class] == "problem" ? Elah::BadRequest.new(message) : message
      end

      get("refuse/:kind") do
        error!(MESSAGES.fetch(params[:kind]), 422)
      end
    end

    run Probe
  RUBY

  def self.server = @server ||= ElahServer.start(APP).tap { |server| Minitest.after_run { server.stop } }

  def server = self.class.server
  def utf8(text) = ["UTF-8", true, text.unpack1("H*")]
  def bytes(text) = ["ASCII-8BIT", true, text.unpack1("H*")]

  def test_what_a_request_says_is_utf8_or_bytes
    headers = { "X-UTF8" => TEXT, "X-Bytes" => "a\xFF", "X-Ascii" => "a", "Cookie" => "a=#{ENCODED}" }
    seen = server.get("/seen/#{ENCODED}?q=#{ENCODED}&l[]=a&h[#{ENCODED}]=b",
                      headers: headers.transform_values(&:b)).json
    assert_equal({ "name: UTF-8" => utf8(TEXT), "q: UTF-8" => utf8(TEXT), "l: UTF-8" => [utf8("a")],
                   "h: UTF-8" => { "#{TEXT}: UTF-8" => utf8("b") } }, seen["params"])
    expected = { "x-utf8: UTF-8" => utf8(TEXT), "x-bytes: UTF-8" => bytes("a\xFF"), "x-ascii: UTF-8" => utf8("a") }
    assert_equal [expected, expected], [seen["headers"], seen["all"].slice(*expected.keys)]
    assert_equal({ "a: UTF-8" => utf8(TEXT) }, seen["cookies"])
    assert_equal [utf8("/seen/#{ENCODED}"), utf8(TEXT), utf8("GET"), bytes(""), utf8("127.0.0.1")],
                 seen.values_at("path", "route", "method", "body", "ip")
  end

  def test_bodies_are_bytes_and_what_is_read_of_them_is_utf8
    part = "--x\r\nContent-Disposition: form-data; name=\"größe[a][]\"\r\n\r\n#{TEXT}\r\n"
    { "application/json" => JSON.generate({ "größe" => { "a" => [TEXT] } }),
      "application/x-www-form-urlencoded" => "größe[a][]=#{ENCODED}",
      "multipart/form-data; boundary=x" => "#{part}--x--\r\n" }.each do |type, body|
      seen = server.request("POST", "/seen/a", headers: { "Content-Type" => type }, body: body.b).json
      assert_equal({ "name: UTF-8" => utf8("a"), "größe: UTF-8" => { "a: UTF-8" => [utf8(TEXT)] } }, seen["params"],
                   type)
      assert_equal bytes(body), seen["body"]
    end
  end

  def test_errors_in_any_encoding_reach_client_and_log
    %w[utf16 broken binary latin].each do |kind|
      assert_equal [500, "internal_error"],
                   server.get("/raise/#{kind}").then { |answer| [answer.status, answer.json["code"]] }
      answer = server.get("/raise/#{kind}?class=problem")
      assert_equal [400, "bad_request"], [answer.status, answer.json["code"]]
      expected = { "utf16" => TEXT, "broken" => "a\uFFFDb", "binary" => TEXT, "latin" => "größe" }[kind]
      assert_equal expected, answer.json["detail"]
      assert_equal [422, expected],
                   server.get("/refuse/#{kind}").then { |refused| [refused.status, refused.json["detail"]] }
      server.wait_for(/failed: RuntimeError: #{expected}/)
    end
  end
end

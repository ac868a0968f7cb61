# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# What a client can send wrongly to an Elah::API behind a well-formed request: each gives a problem with a status and a
# stable code, never a backtrace, and the connection goes on.
class APIBadInputTest < Minitest::Test
  APP = <<~'RUBY'
    class Served < Elah::API
      format :json
      error_format :problem

      params do
        requires :name, type: String
        optional :count, type: Integer
        optional :tags, type: Array[String]
      end
      post(:names) { { name: params[:name] } }

      params { requires :id, type: Integer }
      get("items/:id") { { id: params[:id] } }

      params { optional :q, type: String }
      get(:search) { { q: params[:q] } }
    end

    run Served
  RUBY

  JSON_TYPE = "application/json"
  FORM = "application/x-www-form-urlencoded"
  MULTIPART = "multipart/form-data; boundary=x"

  # What is sent: a content type and a body for POST /names.
  BODIES = {
    [400, "invalid_body"] => {
      "JSON cut off" => [JSON_TYPE, "{"],
      "JSON that made a parser spin (CVE-2026-41146)" => [JSON_TYPE, "[i"],
      "JSON with NaN" => [JSON_TYPE, '{"name":NaN}'],
      "JSON that is no UTF-8" => [JSON_TYPE, "{\"name\":\"\xff\"}"],
      "JSON nested too deeply" => [JSON_TYPE, "{\"name\":#{'[' * 101}#{']' * 101}}"]
    },
    [400, "validation_failed"] => {
      "JSON that is no object" => [JSON_TYPE, "3"],
      "nothing of what is required" => [JSON_TYPE, "{}"],
      "a text for a number" => [JSON_TYPE, '{"name":"a","count":"many"}'],
      "a text for a list" => [JSON_TYPE, '{"name":"a","tags":"b"}'],
      "an object for a text" => [JSON_TYPE, '{"name":{"a":1}}'],
      "a fraction for a number" => [FORM, "name=a&count=1.5"]
    },
    [400, "invalid_parameters"] => {
      "a form that is no UTF-8" => [FORM, "name=%ff"],
      "a form with a broken escape" => [FORM, "name=%zz"],
      "a form that is text and object at once" => [FORM, "name=a&name[b]=c"],
      "a form nested too deeply" => [FORM, "name#{'[a]' * 100}=1"],
      "a form with too many parameters" => [FORM, (["a=1"] * 4097).join("&")],
      "parts without a boundary" => ["multipart/form-data", "abc"],
      "parts cut off" => [MULTIPART, "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nabc"]
    },
    [415, "unsupported_media_type"] => {
      "a type that nobody knows" => ["application/x-unknown", "abc"],
      "a type that this API does not take" => ["application/xml", "<name>a</name>"],
      "a type that is none" => [";;;", "abc"],
      "no type" => [nil, "abc"]
    }
  }.freeze

  TARGETS = {
    [400, "invalid_parameters"] => { "a query that is no UTF-8" => "/search?q=%ff",
                                     "a query with a broken escape" => "/search?q=%" },
    [400, "invalid_path"] => { "a path that is no UTF-8" => "/items/%ff",
                               "a path with a broken escape" => "/items/%zz" },
    [400, "validation_failed"] => { "a text for a number in the path" => "/items/abc" },
    [404, "not_found"] => { "a path that nothing answers" => "/nowhere" },
    [405, "method_not_allowed"] => { "a verb that the path does not have" => "/names" }
  }.freeze

  def self.server = @server ||= ElahServer.start(APP).tap { |server| Minitest.after_run { server.stop } }

  BODIES.each do |(status, code), cases|
    cases.each do |name, (type, body)|
      define_method("test_#{name}_is_#{status}_#{code}") do
        self.class.server.connect do |client|
          assert_problem status, code,
                         client.request("POST", "/names", headers: { "Content-Type" => type }.compact, body: body.b)
          assert_equal 200, client.get("/search?q=on").status
        end
      end
    end
  end

  TARGETS.each do |(status, code), cases|
    cases.each do |name, target|
      define_method("test_#{name}_is_#{status}_#{code}") { assert_problem status, code, self.class.server.get(target) }
    end
  end

  private

  def assert_problem(status, code, answer)
    assert_equal [status, code], [answer.status, answer.json["code"]]
    assert_equal "application/problem+json", answer["content-type"]
    assert_equal status, answer.json["status"]
    refute_match(/\.rb|\.rs|Error\b/, answer.body)
  end
end

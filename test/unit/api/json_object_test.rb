# frozen_string_literal: true

require "support/api_case"

# The body as a JSON object.
class JSONObjectTest < APICase
  FORM = { "Content-Type" => "application/x-www-form-urlencoded" }.freeze

  def scores
    @scores ||= api do
      format :json
      error_format :problem
      post("scores/:id") { json_object }
      put("raw/:id", raw: true) { request.respond(200, {}, json_object.keys.join) }
    end
  end

  def test_it_is_the_body_alone
    assert_equal({ "score" => 1 }, post_json(scores, "/scores/a?score=2&other=3", { score: 1 }).json)
    assert_equal "score", post_json(scores, "/raw/a", { score: 1 }, verb: "PUT").body
  end

  def test_what_curl_calls_a_form_is_read_too
    assert_equal({ "a" => [1] }, post(scores, "/scores/a", body: '{"a":[1]}', headers: FORM).json)
  end

  def test_what_is_no_json_object_is_400
    ["[1]", "1", "null"].each do |text|
      problem = post_json(scores, "/scores/a", text).json
      expected = [400, "invalid_body", "The body must be a JSON object."]
      assert_equal expected, problem.values_at("status", "code", "detail"), text
    end
    ["", "{", '{"a":NaN}', "\xFF", "#{'[' * 200}#{']' * 200}"].each do |text|
      problem = post(scores, "/scores/a", body: text, headers: FORM).json
      assert_equal [400, "invalid_body"], problem.values_at("status", "code"), text
      assert_match(/\AThe text is not (JSON: .* at line 1 column \d+|valid UTF-8)\.\z/, problem["detail"])
    end
  end
end

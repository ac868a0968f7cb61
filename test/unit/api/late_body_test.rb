# frozen_string_literal: true

require "support/api_case"

# A route with `late_body: true` reads the body when its handler says so.
class LateBodyTest < APICase
  def setup
    @api = api do
      format :json
      before { params[:seen] }
      params { optional :size, type: Integer, default: 3 }
      post("late/:id", late_body: true) do
        before = params.to_h
        read_body
        [before, params.to_h]
      end
    end
  end

  # It was read as a form, so a text in a JSON document set parameters.
  def test_parameters_that_are_read_before_the_body_are_those_of_path_and_query
    before, after = post_json(@api, "/late/a?size=5&word=q", { note: "&role=admin", word: "100 %", id: "b" }).json
    assert_equal({ "size" => 5, "word" => "q", "id" => "a" }, before)
    assert_equal({ "size" => 5, "word" => "100 %", "id" => "a", "note" => "&role=admin" }, after)
  end

  def test_a_form_is_read_late_too
    form = { "Content-Type" => "application/x-www-form-urlencoded" }
    before, after = post(@api, "/late/a", body: "word=x", headers: form).json
    assert_equal [{ "id" => "a", "size" => 3 }, { "id" => "a", "size" => 3, "word" => "x" }], [before, after]
  end

  # The files of an upload were written twice.
  def test_the_body_is_read_once
    parsed = []
    once = api do
      format :json
      parser :json, ->(text, _env) { parsed << text; {} }
      post("late", late_body: true) { 2.times { read_body } }
    end
    post_json(once, "/late", "{}")
    assert_equal ["{}"], parsed
  end

  def test_a_type_that_the_api_does_not_accept_is_refused_when_the_body_is_read
    assert_equal 415, post(@api, "/late/a", body: "x", headers: { "Content-Type" => "text/x-other" }).status
  end
end

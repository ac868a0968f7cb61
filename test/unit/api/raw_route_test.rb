# frozen_string_literal: true

require_relative "../../support/api_case"
require "elah/api"

# A route with `raw: true` answers by itself.
class RawRouteTest < APICase
  def setup
    @api = api do
      format :json
      error_format :problem
      before { @seen = "before" }
      after { raise "no after hook runs" }
      params { optional :size, type: Integer, values: 1..9 }
      get("raw/:name", raw: true) { request.respond(203, { "x-seen" => @seen }, "as it is #{params['name']}") }
      get("failing", raw: true) { error!("No.", 410, code: "gone_for_good") }
    end
  end

  def test_the_answer_is_what_the_handler_gives_to_respond
    answer = get(@api, "/raw/abc")
    assert_equal [203, "as it is abc", "before"], [answer.status, answer.body, answer.headers["x-seen"]]
    assert_nil answer.headers["content-type"]
  end

  def test_no_format_is_negotiated
    assert_equal 203, get(@api, "/raw/abc?format=pdf").status
  end

  def test_parameters_are_checked
    assert_equal 400, get(@api, "/raw/abc?size=12").status
  end

  def test_errors_are_answered_in_the_error_format_of_the_api
    answer = get(@api, "/failing")
    assert_equal [410, "gone_for_good"], [answer.status, answer.json["code"]]
  end
end

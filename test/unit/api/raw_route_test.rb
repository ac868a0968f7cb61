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

  def test_the_path_has_no_suffix_for_a_format
    assert_equal 404, get(@api, "/raw/abc.json").status
  end

  def test_redirects_with_headers_made_at_boot
    headers = Elah::HeaderSet.new({ "cache-control" => "no-store", "location" => "/" })
    target = "https://example.com/"
    redirecting = api do
      get("go/:name", raw: true) { request.redirect(307, "#{target}#{request.route_param('name')}", headers) }
    end
    answer = get(redirecting, "/go/there%20now")
    assert_equal [307, "", "https://example.com/there now", "no-store"],
                 [answer.status, answer.body, answer.headers["location"], answer.headers["cache-control"]]
  end

  def test_parameters_are_checked
    assert_equal 400, get(@api, "/raw/abc?size=12").status
  end

  def test_errors_are_answered_in_the_error_format_of_the_api
    answer = get(@api, "/failing")
    assert_equal [410, "gone_for_good"], [answer.status, answer.json["code"]]
  end
end

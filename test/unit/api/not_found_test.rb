# frozen_string_literal: true

require "support/api_case"

# How an API responds to paths that it does not have: in the format of the API that the path is below.
class APINotFoundTest < APICase
  JSON_404 = [404, "application/json", '{"error":"404 Not Found"}'].freeze
  TEXT_404 = [404, nil, "404 Not Found"].freeze

  def parts(answer) = [answer.status, answer.headers["content-type"], answer.body]

  def test_an_api_of_one_format_responds_in_it
    json = api do
      format :json
      get(:x) { 1 }
    end
    assert_equal JSON_404, parts(get(json, "/nowhere"))
    assert_equal "pass", get(json, "/nowhere").headers["x-cascade"], "a Rails app around it still goes on"
    assert_equal [405, "application/json", '{"error":"405 Not Allowed"}'], parts(post(json, "/x"))
    xml = api do
      format :xml
      get(:x) { 1 }
    end
    assert_equal [404, "application/xml"], parts(get(xml, "/nowhere")).first(2)
    open = api { get(:x) { 1 } }
    assert_equal TEXT_404, parts(get(open, "/nowhere"))
  end

  def test_an_apis_own_error_formatter_writes_it
    own = api do
      format :json
      error_formatter :json, ->(message, *) { Elah::JSON.generate({ failed: message }) }
      get(:x) { 1 }
    end
    assert_equal [404, "application/json", '{"failed":"404 Not Found"}'], parts(get(own, "/nowhere"))
  end

  def test_a_path_that_cannot_be_read_is_refused_in_the_format
    json = api do
      format :json
      get(":name") { params[:name] }
    end
    answer = get(json, "/%ff")
    assert_equal [400, "application/json"], parts(answer).first(2)
    assert_match "cannot be read", answer.json["error"]
  end

  def test_the_api_with_the_longest_path_above_it_decides
    json = api do
      format :json
      prefix :data
      get(:x) { 1 }
    end
    problem = api do
      format :json
      error_format :problem
      get(:y) { 1 }
    end
    site = api do
      mount json
      mount problem => "/data/strict"
      get("data/page") { "page" }
    end
    assert_equal JSON_404, parts(get(site, "/data/nowhere"))
    assert_equal JSON_404, parts(get(site, "/data"))
    assert_equal [404, "not_found"], get(site, "/data/strict/nowhere").json.values_at("status", "code")
    assert_equal TEXT_404, parts(get(site, "/database"))
    assert_equal TEXT_404, parts(get(site, "/nowhere"))
  end

  def test_of_apis_at_the_same_path_the_outer_one_decides_if_it_has_a_format
    json = api do
      format :json
      get(:x) { 1 }
    end
    assert_equal JSON_404, parts(get(api { mount json }, "/nowhere"))
    text = api do
      format :txt
      mount json
    end
    assert_equal TEXT_404, parts(get(text, "/nowhere"))
  end
end

# frozen_string_literal: true

require "support/api_case"

# Verbs, namespaces, prefixes and what happens where there is no route.
class APIRoutingTest < APICase
  def shop
    @shop ||= api do
      format :txt
      prefix :api
      get("/") { "root" }
      resource :links do
        get { "list" }
        get("all") { "all" }
        post { "made" }
        delete(":id") { nil }
        route_param :id do
          get { params[:id] }
          get("tags/:tag") { params.values_at(:id, :tag).join("+") }
        end
      end
      get("files/*path") { params[:path] }
      get("year/:year", requirements: { year: /\d{4}/ }) { params[:year] }
      get("archive(/:month)") { params[:month] || "none" }
      route %i[put patch], %w[one two] do
        request.request_method
      end
      route(:any, "any") { request.request_method }
    end
  end

  def test_finds_endpoints_by_verb_and_path
    assert_equal "root", get(shop, "/api").body
    assert_equal "list", get(shop, "/api/links").body
    assert_equal "all", get(shop, "/api/links/all").body
    assert_equal "7", get(shop, "/api/links/7").body
    assert_equal "7+new", get(shop, "/api/links/7/tags/new").body
    assert_equal "a/b", get(shop, "/api/files/a/b").body
    assert_equal "none", get(shop, "/api/archive").body
    assert_equal "05", get(shop, "/api/archive/05").body
    assert_equal "PUT", put(shop, "/api/two").body
    assert_equal "PATCH", patch(shop, "/api/one").body
    assert_equal "PURGE", ask(shop, "PURGE", "/api/any").body
  end

  def test_statuses_follow_the_verb
    assert_equal 201, post(shop, "/api/links").status
    assert_equal 204, delete(shop, "/api/links/1").status
    assert_equal 200, get(shop, "/api/links").status
  end

  def test_requirements_hold
    assert_equal 200, get(shop, "/api/year/2026").status
    assert_equal 404, get(shop, "/api/year/next").status
  end

  def test_captures_are_decoded
    assert_equal "a b/c", get(shop, "/api/links/a%20b%2Fc").body
    broken = get(shop, "/api/links/%ff")
    assert_equal 400, broken.status
    assert_match(/UTF-8/, broken.body)
  end

  def test_a_path_without_route_is_404_and_cascades
    answer = get(shop, "/api/nothing")
    assert_equal [404, "404 Not Found", "pass"], [answer.status, answer.body, answer.headers["x-cascade"]]
  end

  def test_a_verb_without_route_is_405_and_options_lists_the_others
    answer = ask(shop, "PUT", "/api/links")
    assert_equal [405, "405 Not Allowed", "OPTIONS, GET, POST, HEAD"],
                 [answer.status, answer.body, answer.headers["allow"]]
    answer = ask(shop, "OPTIONS", "/api/links")
    assert_equal [204, "", "OPTIONS, GET, POST, HEAD"], [answer.status, answer.body, answer.headers["allow"]]
  end

  def test_head_is_get_without_body
    answer = ask(shop, "HEAD", "/api/links")
    assert_equal [200, "", "text/plain"], [answer.status, answer.body, answer.headers["content-type"]]
  end

  def test_head_options_and_cascade_can_be_switched_off
    quiet = api do
      cascade false
      do_not_route_options!
      get(:x) { "x" }
    end
    assert_nil get(quiet, "/nothing").headers["x-cascade"]
    answer = ask(quiet, "OPTIONS", "/x")
    assert_equal [405, "GET, HEAD"], [answer.status, answer.headers["allow"]]
    headless = api do
      do_not_route_head!
      get(:x) { "x" }
      post(:x) { "x" }
    end
    answer = ask(headless, "HEAD", "/x")
    assert_equal [405, "OPTIONS, GET, POST"], [answer.status, answer.headers["allow"]]
    assert_equal "OPTIONS, GET, POST", ask(headless, "PUT", "/x").headers["allow"]
  end

  def test_mounts_apis_and_rack_apps
    inner = api do
      helpers { def who = "inner" }
      get(:x) { "#{who} #{header['x-outer']}" }
    end
    rack = ->(env) { [200, { "Content-Type" => "text/plain" }, ["rack #{env['PATH_INFO']}"]] }
    outer = api do
      before { header "X-Outer", "yes" }
      mount inner => "/inner"
      mount inner
      mount rack => "/rack"
      get(:own) { "own" }
    end
    assert_equal "inner yes", get(outer, "/inner/x").body
    assert_equal "inner yes", get(outer, "/x").body
    assert_equal "inner ", get(inner, "/x").body
    assert_equal "rack /rack/deep", get(outer, "/rack/deep").body
    assert_equal "own", get(outer, "/own").body
    assert_equal [["GET", "/inner/x(.:format)"], ["GET", "/x(.:format)"], ["*", "/rack(/*path)"],
                  ["GET", "/own(.:format)"]], outer.routes.map { |route| [route.request_method, route.path] }
  end

  def test_settings_of_a_superclass_are_inherited
    base = api { format :json }
    child = Class.new(base) { get(:x) { { a: 1 } } }
    assert_equal({ "a" => 1 }, get(child, "/x").json)
    assert_empty base.routes
  end

  def test_routes_tell_what_was_defined
    described = api do
      version "v1"
      desc "Finds a link" do
        detail "By its code."
        failure [[404, "Not found"]]
      end
      params { requires :full, type: Elah::API::Boolean, desc: "Everything" }
      get("links/:code") { "x" }
    end
    route = described.routes.first
    assert_equal ["GET", "/:version/links/:code(.:format)", "v1", "Finds a link", "By its code."],
                 [route.request_method, route.path, route.version, route.description, route.detail]
    assert_equal({ "code" => "", "full" => { required: true, type: "Elah::API::Boolean", desc: "Everything" } },
                 route.params)
  end

  def test_the_router_has_an_id_per_route
    small = api { get("a/:b") { "x" } }
    assert_equal [0, { "b" => "1" }], small.router.match("GET", "/a/1")
    assert_empty small.streamed_routes
    streamed = api { put(:import, stream_body: true) { "x" } }
    assert_equal [0], streamed.streamed_routes
  end

  def test_a_wrong_definition_names_its_endpoint
    wrong = api { get("a/:b/:b") { "x" } }
    error = assert_raises(Elah::API::DefinitionError) { wrong.compile! }
    assert_match(%r{GET /a/:b/:b}, error.message)
  end
end

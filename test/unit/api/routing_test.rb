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

  # It was a NameError.
  def test_a_handler_knows_its_namespace
    nested = api do
      get(:top) { namespace }
      namespace(:a) { namespace(":b") { get(:x) { namespace } } }
    end
    assert_equal %w[/ /a/:b], %w[/top /a/1/x].map { |path| get(nested, path).body }
  end

  # Grape's usual form. The API did not boot: "names no parameter of the pattern".
  def test_a_namespace_has_requirements_for_some_of_its_paths
    app = api do
      format :txt
      namespace :users, requirements: { id: /[0-9]+/ } do
        get { "list" }
        get(":id") { params[:id] }
      end
    end
    answers = %w[/users /users/5 /users/x].map { |path| ask(app, "GET", path) }
    assert_equal [[200, "list"], [200, "5"], [404, "404 Not Found"]], answers.map { |one| [one.status, one.body] }
  end

  # An API with one format took the path for one without parameters.
  def test_a_wildcard_without_a_name_is_the_parameter_splat
    app = api do
      format :json
      get("files/*") { params[:splat] }
      get("raw/*", raw: true) { request.respond(200, {}, params[:splat]) }
    end
    assert_equal ['"a/b"', "a/b"], %w[/files/a/b /raw/a/b].map { |path| ask(app, "GET", path).body }
  end

  # The requirement of an optional parameter allowed no dots.
  def test_a_requirement_of_an_optional_parameter_takes_what_looks_like_a_format
    app = api { get("files(/:id)", requirements: { id: %r{[^/]+} }) { "#{params[:id]} #{params[:format]}" } }
    answers = %w[/files/a.json /files/a.b /files/a /files /files.json].map { |path| ask(app, "GET", path).body }
    assert_equal ['"a.json "', "a.b ", "a ", " ", '" json"'], answers
  end

  # The format was looked for in the path as it is sent, and after the last parameter of the pattern:
  # "report.v1%20final" and "1.2.3" were cut off at their last dot.
  def test_a_requirement_takes_what_looks_like_a_format_however_it_is_sent
    app = api do
      format :txt
      get("files/:id", requirements: { id: %r{[^/]+} }) { params[:id] }
      get("tags/:a(/:b(/:c))", requirements: { a: %r{[^/]+}, c: %r{[^/]+} }) { params.values.join(" ") }
      get("of/:id/tags", requirements: { id: %r{[^/]+} }) { params[:id] }
    end
    { "files/report.v1%20final" => "report.v1 final", "files/a.%6Ason" => "a.json", "files/a.%C3%A9" => "a.\u00e9",
      "tags/1.2.txt" => "1.2.txt", "tags/a.b/c.d" => "404 Not Found", "tags/a.b/c.txt" => "a.b c",
      "tags/a/b/c.d" => "a b c.d", "of/tags/tags.txt" => "tags" }
      .each { |path, text| assert_equal text, ask(app, "GET", "/#{path}").body, path }
  end

  # Ruby compared such a path with the requirement a second time, for hours.
  def test_a_requirement_is_bounded_also_for_a_path_with_a_format
    app = api do
      format :json
      get("posts/:slug", requirements: { slug: /([a-z0-9]+-?)+/ }) { params[:slug] }
      get("files/:name", requirements: { name: %r{[^/]+} }) { params[:name] }
    end
    letters = "a" * 60
    { "posts/#{letters}.json" => letters, "files/#{letters}.json" => "#{letters}.json",
      "files/%C3%A4%20b.json" => "\u00e4 b.json" }.each do |path, text|
      assert_equal Elah::JSON.generate(text), ask(app, "GET", "/#{path}").body
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
      mount ->(_env) { [200, { "content-type" => "text/plain" }.freeze, ["mounted"]] } => "/frozen"
    end
    assert_nil get(quiet, "/nothing").headers["x-cascade"]
    assert_equal "mounted", get(quiet, "/frozen").body
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

  # The rules around the first mount ran again for an API mounted into the mounted one: a coercion got its own result.
  def test_rules_around_a_mount_run_once_however_deep_the_endpoint_is
    deep = api { get(:y) { params[:ids].inspect } }
    middle = api { get(:x) { params[:ids].inspect }; mount deep }
    outer = api do
      params { requires :ids, type: Array[Integer], coerce_with: ->(text) { text.split(",").map(&:to_i) } }
      namespace(:n) { mount middle }
    end
    %w[/n/x /n/y].each { |path| assert_equal "[1, 2]", get(outer, "#{path}?ids=1,2").body, path }
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
      desc "Finds a link", tags: %w[links] do
        detail "By its code."
        failure [[404, "Not found"]]
      end
      params { requires :full, type: Elah::API::Boolean, desc: "Everything" }
      get("links/:code") { "x" }
    end
    route = described.routes.first
    assert_equal ["GET", "/:version/links/:code(.:format)", "v1", "Finds a link", "By its code."],
                 [route.request_method, route.path, route.version, route.description, route.detail]
    assert_equal %w[links], route.tags
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

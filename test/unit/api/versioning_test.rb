# frozen_string_literal: true

require "support/api_case"

# Definitions of versions; the parity test has the requests.
class APIVersioningTest < APICase
  def test_unknown_strategies_and_missing_vendors_are_wrong_definitions
    error = assert_raises(Elah::API::DefinitionError) { api { version "v1", using: :cookie } }
    assert_match(/Unknown :using for version: cookie. Known are path, header, param, accept_version_header/,
                 error.message)
    error = assert_raises(Elah::API::DefinitionError) { api { version "v1", using: :header } }
    assert_match(/vendor:/, error.message)
  end

  def test_version_without_arguments_reads_it
    seen = nil
    api { version "v1", "v2"; seen = version }
    assert_equal "v2", seen
  end

  def test_the_parameter_is_apiver_unless_named
    param = api do
      version "v1", using: :param
      get(:x) { version.to_s }
    end
    assert_equal "v1", get(param, "/x?apiver=v1").body
    assert_equal 404, get(param, "/x?apiver=v2").status
  end

  def test_every_version_in_the_path_is_a_route_of_its_own
    paths = api do
      version "v1", "v2"
      get(:x) { version }
    end
    assert_equal 1, paths.routes.size
    assert_equal %w[v1 v2], paths.routes.first.version
    assert_equal [0, 1], %w[v1 v2].map { |version| paths.router.match("GET", "/#{version}/x").first }
  end

  def test_versions_of_a_path_may_name_its_parameters_differently
    named = api do
      version("v1", using: :accept_version_header) { get("links/:id(/:part)") { params.to_h.inspect } }
      version("v2", using: :accept_version_header) { get("links/:code(/:piece)") { params.to_h.inspect } }
    end
    assert_equal({ "id" => "7" }.inspect, get(named, "/links/7", headers: { "Accept-Version" => "v1" }).body)
    assert_equal({ "code" => "7", "piece" => "x" }.inspect,
                 get(named, "/links/7/x", headers: { "Accept-Version" => "v2" }).body)
  end

  # What was asked of the router's choice alone: the parameter by its own name, and the limits of versions but the last.
  def test_versions_of_a_path_have_their_own_names_and_share_its_limits
    limited = api do
      version("v1", using: :accept_version_header) do
        behind max: 1
        get("links/:id") { request.route_param("id") }
        post(:up, stream_body: true) { "v1" }
      end
      version("v2", using: :accept_version_header) do
        get("links/:code") { request.route_param("code") }
        post(:up) { "v2" }
      end
    end
    assert_equal %w[7 7],
                 %w[v1 v2].map { |version| get(limited, "/links/7", headers: { "Accept-Version" => version }).body }
    up = limited.router.match("POST", "/up").first
    assert_equal [up], limited.streamed_routes
    assert_includes limited.gates.values.flatten, up
  end

  # As in Grape. The mounted app answered, and so did a catch-all route.
  def test_a_request_for_another_version_reaches_no_mounted_app
    rack = ->(env) { [200, {}, ["rack #{env['PATH_INFO']}"]] }
    mounting = api do
      version("v1", using: :accept_version_header) { get(:x) { "v1" } }
      mount rack
    end
    assert_equal "v1", get(mounting, "/x", headers: { "Accept-Version" => "v1" }).body
    assert_equal [404, "pass"], get(mounting, "/x", headers: { "Accept-Version" => "v0" })
      .then { |answer| [answer.status, answer.headers["x-cascade"]] }
    mounting = api do
      version("v1", using: :accept_version_header) { get(:x) { "v1" } }
      route(:any, "*path") { "caught" }
    end
    assert_equal 406, get(mounting, "/x", headers: { "Accept-Version" => "v0" }).status
  end

  # The catch-all route or the mounted app answered: a client of a version that is no more got the page of another app.
  def test_a_version_that_no_endpoint_of_the_path_has_is_refused_beside_what_serves_all_paths
    versions = %w[v1 v2].map do |name|
      api do
        version name, using: :accept_version_header
        get(:x) { version }
      end
    end
    caught = api { versions.each { |one| mount one } && route(:any, "*path") { error!("caught", 404) } }
    mounted = api { versions.each { |one| mount one } && mount(->(_env) { [200, {}, ["mounted"]] } => "/") }
    [caught, mounted].each do |root|
      answers = %w[v1 v2 v3].map { |name| get(root, "/x", headers: { "Accept-Version" => name }) }
      assert_equal([[200, "v1"], [200, "v2"], [406, "The requested version is not supported."]],
                   answers.map { |answer| [answer.status, answer.body] })
    end
    assert_equal [[404, "caught"], [200, "mounted"]],
                 [caught, mounted].map { |root| get(root, "/y").then { |answer| [answer.status, answer.body] } }
  end

  # As in Grape. The search ended at the mounted app: the endpoint of v1, which is less specific, was a 404.
  def test_a_version_is_found_behind_a_mounted_app_that_another_version_has_before_it
    rack = ->(_env) { [200, {}, ["rack"]] }
    first = api do
      version("v1", using: :accept_version_header)
      get(":id") { "v1 id" }
      get(":kind/:id") { "v1 kind" }
    end
    second = api do
      version("v2", using: :accept_version_header)
      get("links") { "v2 links" }
      get("links/:id") { "v2 link" }
    end
    both = api { [first, second, { rack => "/links" }].each { |one| mount one } }
    answers = %w[/links /links/7].product(%w[v1 v2 v3]).map do |path, version|
      get(both, path, headers: { "Accept-Version" => version }).then { |answer| [answer.status, answer.body] }
    end
    refused = [406, "The requested version is not supported."]
    assert_equal [[200, "v1 id"], [200, "v2 links"], refused, [200, "v1 kind"], [200, "v2 link"], refused], answers
  end

  def test_a_request_for_another_version_reaches_a_less_specific_endpoint_without_one
    open = api do
      version("v1", using: :accept_version_header) { get(:x) { "v1" } }
      get(":id") { "plain" }
    end
    bodies = %w[v1 v2].map { |version| get(open, "/x", headers: { "Accept-Version" => version }).body }
    assert_equal %w[v1 plain], bodies
  end

  def test_problems_about_versions
    strict = api do
      error_format :problem
      version "v1", using: :accept_version_header, strict: true, cascade: false
      get(:x) { "x" }
    end
    assert_equal [406, "not_acceptable"], get(strict, "/x").json.values_at("status", "code")
  end
end

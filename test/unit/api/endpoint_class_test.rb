# frozen_string_literal: true

require "support/api_case"

# The generated code has only the steps that a route needs.
class APIEndpointClassTest < APICase
  # Counts what an endpoint asks of its request.
  class CountingRequest
    attr_reader :asked, :answer

    def initialize
      @asked = Hash.new(0)
    end

    { request_method: "GET", path: "/x", query_string: "", route_params: { "id" => "1" } }.each do |name, value|
      define_method(name) do
        @asked[name] += 1
        value
      end
    end

    def query?
      @asked[:query_string] += 1
      false
    end

    def route = 0

    def header(name)
      @asked[name] += 1
      nil
    end

    def respond(*answer) = @answer = answer
  end

  def test_a_value_is_answered_with_prepared_headers_and_one_look_at_the_query
    request = CountingRequest.new
    api { format :txt; get(:x) { "hello" } }.handle(request)
    assert_equal({ query_string: 1 }, request.asked)
    status, headers, body = request.answer
    assert_equal [200, "hello"], [status, body]
    assert_instance_of Elah::HeaderSet, headers
    assert_equal({ "content-type" => "text/plain" }, headers.to_h)
  end

  def test_params_are_not_read_unless_asked_for
    request = CountingRequest.new
    api { format :json; get(:x) { { a: 1 } } }.handle(request)
    refute request.asked.key?(:route_params)
    request = CountingRequest.new
    api { format :json; get(":id") { params } }.handle(request)
    assert_equal 1, request.asked[:route_params]
    assert_equal '{"id":"1"}', request.answer.last
  end

  def test_what_a_handler_says_is_answered_in_full
    request = CountingRequest.new
    api { format :json; get(:x) { header "X-A", "1"; status 202; { a: 1 } } }.handle(request)
    assert_equal [202, { "x-a" => "1", "content-type" => "application/json" }, '{"a":1}'], request.answer
  end

  def test_steps_that_nobody_needs_are_not_there
    plain = api { format :txt; get(:x) { "x" } }
    full = api do
      format :txt
      before { nil }
      finally { nil }
      params { requires :a }
      post(:x) { "x" }
    end
    refute_match(/_before|_validate|_read_body|ensure/, source_of(plain))
    assert_match(/_read_body.*_before_0.*_validate.*_handle.*ensure.*_finally_0/m, source_of(full))
  end

  def test_a_backtrace_names_the_endpoint
    broken = api { get(:x) { raise "here" } }
    error = assert_raises(RuntimeError) { get(broken, "/x") }
    assert(error.backtrace.any? { |line| line.start_with?("(endpoint GET /x(.:format))") })
  end

  def test_optional_parameters_of_the_query_cost_nothing_without_a_query
    request = CountingRequest.new
    api do
      format :txt
      params { optional :n, type: Integer, values: 1..9, default: 3 }
      get(:x) { request.query? ? params[:n].to_s : "none" }
    end.handle(request)
    refute request.asked.key?(:route_params)
    assert_equal "none", request.answer.last
  end

  def test_defaults_are_there_when_the_parameters_are_read_late
    request = CountingRequest.new
    defaulting = api do
      format :json
      params { optional :n, type: Integer, default: 3 }
      get(:x) { declared(params) }
    end
    defaulting.handle(request)
    assert_equal %({"n":3}), request.answer.last
  end

  def test_a_parameter_of_the_path_is_checked_before_the_handler
    request = CountingRequest.new
    api { format :json; params { optional :id, values: %w[2 3] }; get("x/:id") { "reached" } }.handle(request)
    assert_equal 400, request.answer.first
  end

  private

  def source_of(api)
    definition = api._definitions.first
    settings = Elah::Framework::Settings.new(definition.layers)
    route = Elah::Framework::Route.new(path: "/x", requirements: {}, options: {}, api: api)
    blueprint = Elah::Framework::Blueprint.new(settings, definition: definition, parameters: definition.parameters,
                                                         route: route)
    Elah::Framework::EndpointClass.new(blueprint, verb: definition.verbs.first, version: nil, position: 0).send(:source)
  end
end

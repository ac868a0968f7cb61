# frozen_string_literal: true

require "support/api_case"

# What is noticed when an API is defined and compiled, rather than when a request comes.
class APIDefinitionsTest < APICase
  # @return [String] what the log has of the block
  def logged
    log = Elah::Log.current
    out = StringIO.new
    Elah::Log.current = Elah::Log.new(out: out)
    yield
    out.string
  ensure
    Elah::Log.current = log
  end

  def test_a_route_that_is_defined_twice_is_told_with_both_lines
    line = __LINE__
    twice = api do
      get(:other) { "other" }
      get(:x) { "first" }
      get("x") { "second" }
    end
    text = logged { twice.compile! }
    first = /the first definition, .*definitions_test\.rb:#{line + 3}/
    assert_match(/WARN .*GET \/x\(\.:format\) is defined 2 times: #{first}, serves it, not .*:#{line + 4}$/, text)
    assert_equal 1, text.lines.size
    assert_equal "first", get(twice, "/x").body, "as under Grape"
  end

  def test_routes_that_differ_in_something_are_no_duplicates
    distinct = api do
      get(:x) { 1 }
      post(:x) { 2 }
      route(:any, :x) { 3 }
      get("y/:id", requirements: { id: /\d+/ }) { 4 }
      get("y/:name") { 5 }
      get(":year/:slug", requirements: { year: /\d{4}/ }) { 9 }
      get(":lang/:year", requirements: { year: /\d{4}/ }) { 10 }
      version("v1", using: :header, vendor: "acme") { get(:z) { 6 } }
      version("v2", using: :header, vendor: "acme") { get(:z) { 7 } }
      version("v1", "v2", using: :path) { get(:w) { 8 } }
    end
    assert_empty logged { distinct.compile! }
    assert_equal %w[9 10], %w[/2024/x /en/2024].map { |path| get(distinct, path).body }
    versions = api do
      version("v1", using: :header, vendor: "acme") { get(:z) { 6 } }
      version("v1", using: :header, vendor: "acme") { get :z }
      get("y/:id", requirements: { id: /\d+/ }) { 4 }
      get("y/:code", requirements: { code: /\d+/ }) { 5 }
    end
    text = logged { versions.compile! }
    assert_match(/GET \/z.* is defined 2 times: .*, serves it, not one without a block in /, text)
    assert_match(/GET \/y.* is defined 2 times: /, text)
  end

  def test_rescue_from_refuses_what_is_no_exception
    { al: "not :al. Did you mean all?", everything: "not :everything.", "KeyError" => 'not "KeyError".',
      [KeyError] => "not [KeyError].", String => "not String." }.each do |wrong, sentence|
      error = assert_raises(Elah::API::DefinitionError) { api { rescue_from(wrong) { "x" } } }
      assert_match "rescue_from accepts exception classes, :all, :grape_exceptions or :elah_exceptions, #{sentence}",
                   error.message
    end
    api { rescue_from(KeyError, Comparable, :all) { "x" } }
  end

  # `Settings` and `Route` were the framework's in every API, and `rescue_from NotFound` rescued nothing.
  def test_constants_of_the_framework_hide_none_of_an_app
    assert_equal %i[Boolean DefinitionError Exceptions SharedParameters Validator], Elah::API.constants.sort
  end

  # Refuses its option when it is made.
  class BoundedValidator < Elah::API::Validator
    def initialize(attrs, option, *rest)
      super
      raise ArgumentError, "bounded: takes an Integer, not #{option.inspect}." unless option.is_a?(Integer)
    end

    def validate_param!(_name, _params) = nil
  end

  def test_a_rule_of_the_apps_own_is_made_once_at_boot
    assert_raises(ArgumentError) { api { params { requires :v, bounded: "x" } } }
  end
end

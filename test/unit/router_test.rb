# frozen_string_literal: true

# Elah::Router: what Ruby sees of the core's router, and a comparison with Mustermann, which matches paths for Grape.
require "test_helper"
require "mustermann/grape"

class RouterTest < Minitest::Test
  def setup
    @router = Elah::Router.new
  end

  def test_a_route_answers_its_id_and_decoded_parameters
    @router.add("GET", "/links/:code", 7)
    @router.add("GET", "/files/*path", 8)
    assert_equal [7, { "code" => "a b" }], @router.match("GET", "/links/a%20b")
    assert_equal [7, { "code" => "abc" }], @router.match("HEAD", "//links/abc/")
    assert_equal [8, { "path" => "a/b.txt" }], @router.match("GET", "/files/a/b.txt")
    assert_nil @router.match("GET", "/nothing")
    assert_equal Encoding::UTF_8, @router.match("GET", "/links/caf%C3%A9".b).last["code"].encoding
  end

  def test_a_missing_method_answers_the_allowed_ones
    @router.add("GET", "/a", 1)
    @router.add("PUT", "/a", 2)
    assert_equal [nil, %w[OPTIONS GET PUT HEAD]], @router.match("POST", "/a")
  end

  def test_a_mount_answers_the_path_below_it
    @router.mount("/blog", 9)
    assert_equal [9, {}, "/x%2Fy/"], @router.match("PATCH", "/blog/x%2Fy/")
    assert_equal [9, {}, ""], @router.match("GET", "/blog")
  end

  def test_requirements_are_regular_expressions
    @router.add("GET", "/:id", 1, { id: /[a-f]+\d/ix })
    @router.add("GET", "/:id", 3, { id: /\h{8}-\h{4}|(?!new)n\w+/ }) # `\h` and `(?!` were errors at boot
    @router.add("GET", "/:name", 2)
    assert_equal [3, { "id" => "0123abcd-ef45" }], @router.match("GET", "/0123abcd-ef45")
    assert_equal [1, { "id" => "AB1" }], @router.match("GET", "/AB1")
    assert_equal [2, { "name" => "xyz" }], @router.match("GET", "/xyz")
    assert_equal [2, { "name" => "new" }], @router.match("GET", "/new")
    assert_raises(TypeError) { @router.add("GET", "/:id", 1, { id: 5 }) }
    assert_match "requirement of \"id\"",
                 assert_raises(ArgumentError) { @router.add("GET", "/:id", 1, { id: /\X/ }) }.message
  end

  def test_a_path_that_cannot_be_read_is_a_bad_path
    @router.add("GET", "/:id", 1)
    ["/%ff", "/%zz", "/\xff"].each do |path|
      assert_kind_of Elah::Error, assert_raises(Elah::Router::BadPath) { @router.match("GET", path) }
    end
  end

  def test_what_cannot_be_a_route_is_an_argument_error
    assert_match "unmatched bracket", assert_raises(ArgumentError) { @router.add("GET", "/a(b", 1) }.message
    assert_match "not an HTTP method", assert_raises(ArgumentError) { @router.add("", "/a", 1) }.message
    assert_match "wildcard", assert_raises(ArgumentError) { @router.mount("/*a", 1) }.message
    assert_raises(RangeError) { @router.add("GET", "/a", -1) }
  end

  PATTERNS = %w[
    / /a /a/:id /:a/b /:a/:b /a/:id.:ext /a/:id(.json) /a/:x(.:format) /a(/:b(/:c)) /a/:x-:y /files/*path
    /files/*rest/raw /x{name} /a|/b /ab?c /sp\ ace/:x /caf%C3%A9 /café/:x /%61b
  ].freeze
  SEGMENTS = %w[a b c ac abc a.json a.b a.b.c a-b a-b-c files raw xn %61 a%20b a%2Fb sp%20ace caf%C3%A9 é a+b a;b ~
                .json -].freeze

  # Ruby's grammar allows what is deliberately different here: text that needs escapes is compared decoded, and a
  # pattern may be written with escapes.
  DIFFERENT = ["/caf%C3%A9", "/%61b"].freeze

  def test_a_single_pattern_matches_what_mustermann_matches
    random = Random.new(11)
    outcomes = Hash.new(0)
    (PATTERNS - DIFFERENT).each do |pattern|
      router = Elah::Router.new.tap { |one| one.add("GET", pattern, 1) }
      mustermann = Mustermann::Grape.new(pattern)
      1000.times do
        path = "/#{Array.new(random.rand(4)) { SEGMENTS.sample(random: random) }.join("/")}"
        expected = mustermann.params(path)&.compact
        outcomes[expected.nil?] += 1
        actual = router.match("GET", path)
        expected ? assert_equal([1, expected], actual, "#{pattern} #{path}") : assert_nil(actual, "#{pattern} #{path}")
      end
    end
    assert_operator outcomes.values.min, :>, 500
  end

  def test_patterns_written_with_escapes_match_the_text_that_they_stand_for
    @router.add("GET", "/caf%C3%A9", 1)
    assert_equal [1, {}], @router.match("GET", "/café")
    assert_equal [1, {}], @router.match("GET", "/caf%c3%a9")
  end
end

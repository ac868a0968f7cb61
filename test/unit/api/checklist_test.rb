# frozen_string_literal: true

require_relative "../../test_helper"

# Which rules a request is held to, and that the others would have found and changed nothing.
class APIChecklistTest < Minitest::Test
  # A rule of the app's own, which answers for a parameter that is missing too.
  class TotalValidator < Elah::API::Validator
    def validate(request)
      request.params["total"] = request.params.values.grep(Integer).sum
      super
    end

    def validate_param!(name, params)
      fail_with(name, "must be below 10") unless params[name].to_i < 10
    end
  end

  # A built-in rule that an app has made its own.
  class ShortValidator < Elah::Framework::Validators::LengthValidator
    def initialize(names, option, *rest) = super(names, { max: option }, *rest)
  end

  # Several parameters with rules of all kinds, in an order in which some depend on others.
  DECLARATIONS = {
    optional: proc {
      optional :a, type: Integer, values: 1..5
      optional :b, :c, type: String, allow_blank: false, length: { max: 3 }
      optional :d, regexp: /\A\d+\z/, same_as: :b
    },
    required: proc {
      optional :a, type: Integer, fail_fast: true
      requires :b, type: String, values: %w[x y], allow_blank: false
      optional :c, type: Integer, except_values: [3]
    },
    defaults: proc {
      optional :a, type: Integer, default: 7, values: { value: 1..9, message: "is far off" }
      optional :b, values: 1..5, default: -> { 9 }
      optional :c, type: String, as: :other
      optional :d, same_as: :a
    },
    groups: proc {
      optional :a, :b, :c, type: Integer
      mutually_exclusive :a, :b
      at_least_one_of :b, :c
      exactly_one_of :a, :c
      all_or_none_of :b, :d
    },
    nested: proc {
      optional(:a, type: Hash) { requires :b, type: Integer }
      optional :b, type: Array do
        optional :c, type: Integer, default: 1
        requires :d
      end
      requires(:c, type: Hash) { optional :a, values: %w[x] }
      given(:a) { requires :d, type: Integer }
      optional :d, type: JSON do
        optional :a, type: Integer
      end
    },
    own: proc {
      optional :a, type: Integer
      optional :total, total: true, type: String, length: { max: 1 }
      optional :b, short: 1
      optional :c, type: Integer, values: 1..3
    }
  }.freeze

  VALUES = [nil, "", "x", "xyzz", "3", 3, "7", 12, false, [], [1], {}, { "b" => "1" }, [{ "c" => "x" }],
            { "a" => "y" }, '{"a":"z"}'].freeze

  def test_rules_of_optional_parameters_are_asked_when_the_request_has_one_of_them
    declaration = proc do
      requires :target, type: String
      optional :from, :to, type: Integer
      optional :title, type: String, length: { max: 5 }
    end
    always = [%w[Presence target], %w[Coerce target]]
    assert_equal always, asked({}, &declaration)
    assert_equal always, asked({ "target" => "x", "unknown" => 1 }, &declaration)
    assert_equal [*always, %w[Coerce from to]], asked({ "to" => 1 }, &declaration)
    assert_equal [*always, %w[Coerce title], %w[Length title]], asked({ "title" => nil, "target" => "x" }, &declaration)
  end

  def test_what_looks_at_more_than_its_own_parameters_is_always_asked
    assert_equal [%w[Default a], %w[Values a]], asked({}) { optional :a, default: 1, values: [1] }
    assert_equal [%w[MutualExclusion a b]], asked({}) { mutually_exclusive :a, :b }
    assert_equal [%w[Total a]], asked({}) { optional :a, total: true }
    assert_equal [%w[Short a]], asked({}) { optional :a, short: 1 }
    assert_equal [%w[Coerce b]], asked({}) { optional(:a, type: Hash) { optional :b, type: Integer } }
    assert_equal [%w[Coerce b]], asked({}) { optional(:a); given(:a) { optional :b, type: Integer } }
  end

  def test_a_fault_of_a_rule_that_ends_the_validation_is_the_last
    declaration = proc do
      optional :a, type: Integer
      optional :b, type: Integer, fail_fast: true
      requires :c
    end
    assert_equal ["a is invalid", "b is invalid"], outcome(declaration, { "a" => "x", "b" => "x" }).first.map(&:first)
    assert_equal ["c is missing"], outcome(declaration, { "b" => "1" }).first.map(&:first)
  end

  DECLARATIONS.each do |name, declaration|
    define_method("test_#{name}_come_out_as_when_every_rule_is_asked") do
      requests.each do |given|
        every_rule = outcome(declaration, given) { |validators, params| faults_of_every_rule(validators, params) }
        assert_equal every_rule, outcome(declaration, given), given.inspect
      end
    end
  end

  private

  # None and each of the parameters with each value, and many with several.
  def requests
    random = Random.new(7)
    names = %w[a b c d total]
    single = names.product(VALUES).map { |name, value| { name => value } }
    several = Array.new(400) do
      names.sample(random.rand(2..5), random: random).to_h { |name| [name, VALUES.sample(random: random)] }
    end
    [{}, *single, *several]
  end

  # What is wrong, each with its parameters and code, and what the parameters are then.
  def outcome(declaration, given)
    validators = Elah::Framework::Parameters.new(&declaration).validators
    params = Elah::Framework::Params.from(Marshal.load(Marshal.dump(given)))
    faults = block_given? ? yield(validators, params) : Elah::Framework::Checklist.new(validators).faults(params, nil)
    [faults.map { |fault| ["#{fault.params.join(', ')} #{fault.message}", fault.code] }, params]
  end

  def faults_of_every_rule(validators, params)
    validators.each_with_object([]) do |validator, errors|
      count = errors.size
      validator._check(params, errors, nil)
      return errors if errors.size > count && validator.fail_fast?
    end
  end

  # Kind and names of the rules that are asked about a request.
  def asked(given, &declaration)
    validators = Elah::Framework::Parameters.new(&declaration).validators
    checklist = Elah::Framework::Checklist.new(validators)
    asked = []
    validators.each do |validator|
      validator.define_singleton_method(:_check) do |params, errors, endpoint|
        asked << [(respond_to?(:kind) ? kind : self.class).name[/(\w+)Validator\z/, 1], *_names]
        super(params, errors, endpoint)
      end
    end
    checklist.faults(Elah::Framework::Params.from(given), nil)
    asked
  end
end

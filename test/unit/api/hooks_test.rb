# frozen_string_literal: true

require "support/api_case"

# Hooks, helpers and what a handler may do in them.
class APIHooksTest < APICase
  def test_order
    steps = []
    ordered = api do
      before { steps << :before }
      before_validation { steps << :before_validation }
      after_validation { steps << :after_validation }
      after { steps << :after }
      finally { steps << :finally }
      params { optional :v, type: Integer, values: ->(_) { steps << :validation } }
      get(:x) { steps << :handler }
      get(:fails) { raise ArgumentError, "x" }
      get(:halts) { error! "x" }
    end
    get(ordered, "/x?v=1")
    assert_equal %i[before before_validation validation after_validation handler after finally], steps
    steps.clear
    assert_raises(ArgumentError) { get(ordered, "/fails") }
    assert_equal %i[before before_validation after_validation finally], steps
    steps.clear
    get(ordered, "/halts")
    assert_equal :finally, steps.last
    steps.clear
    put(ordered, "/x")
    assert_equal %i[before finally], steps
    steps.clear
    options(ordered, "/x")
    assert_equal %i[before after finally], steps
  end

  def test_a_hook_may_end_the_request_and_return_early
    guarded = api do
      before { error! "no key", 401 unless headers["X-Key"] }
      before { next if params[:skip]; header "X-Seen", "1" }
      get(:x) { "in" }
    end
    assert_equal 401, get(guarded, "/x").status
    assert_equal "1", get(guarded, "/x", headers: { "X-Key" => "k" }).headers["x-seen"]
    assert_nil get(guarded, "/x?skip=1", headers: { "X-Key" => "k" }).headers["x-seen"]
  end

  def test_a_hook_may_take_the_endpoint
    given = api do
      before { |endpoint| endpoint.header "X-Self", equal?(endpoint).to_s }
      get(:x) { "x" }
    end
    assert_equal "true", get(given, "/x").headers["x-self"]
  end

  def test_helpers_are_seen_in_their_scope_alone
    common = Module.new { def shared = "shared" }
    scoped = api do
      helpers common
      helpers { def who = "outer" }
      namespace :in do
        helpers { def who = "inner #{super}" }
        get { "#{who} #{shared}" }
      end
      get(:out) { who }
    end
    assert_equal "inner outer shared", get(scoped, "/in").body
    assert_equal "outer", get(scoped, "/out").body
  end

  def test_declared_waits_for_the_before_hooks
    early = api do
      before { declared(params) }
      get(:x) { "x" }
    end
    error = assert_raises(NoMethodError) { get(early, "/x") }
    assert_match(/not available prior to parameter validation/, error.message)
  end

  def test_every_request_has_an_endpoint_of_its_own
    counting = api { get(:x) { (@count = (@count || 0) + 1).to_s } }
    2.times { assert_equal "1", get(counting, "/x").body }
  end

  def test_the_logger_is_inherited_by_subclasses
    log = Object.new
    base = api { logger log }
    assert_same log, Class.new(base).logger
    logging = Class.new(base) { get(:x) { logger.equal?(log).to_s } }
    logging.class_eval { get(:y) { (logger == log).to_s } }
    assert_equal "true", get(logging, "/y").body
  end

  def test_the_definition_may_grow_until_it_is_compiled_and_after
    growing = api { get(:a) { "a" } }
    assert_equal 404, get(growing, "/b").status
    growing.get(:b) { "b" }
    assert_equal "b", get(growing, "/b").body
  end
end

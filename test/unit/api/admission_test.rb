# frozen_string_literal: true

require "support/api_case"

# What `behind` says, and which routes it holds for. That it holds is tested with a real server
# (test/integration/gates_test.rb).
class APIAdmissionTest < Minitest::Test
  Pool = Struct.new(:connections_max)

  def api(&block) = Class.new(Elah::API, &block)

  def test_a_gate_is_shared_by_the_endpoints_that_follow_in_its_scope
    api = api do
      get(:free) { "" }
      namespace :items do
        behind Pool.new(10), queue_seconds: 0.5
        get(:random) { "" }
        get(":id") { "" }
      end
      get(:also_free) { "" }
    end
    assert_equal 1, api.gates.size
    gate, ids = api.gates.first
    assert_equal [20, 0.5, nil], [gate.running_max, gate.queue_seconds, gate.queue_max]
    paths = api.routes.map(&:path)
    assert_equal %w[/items/random(.:format) /items/:id(.:format)], ids.map { |id| paths[id] }
  end

  def test_an_api_without_gates_has_none
    assert_empty api { get(:free) { "" } }.gates
  end

  def test_a_mounting_api_says_it_for_those_it_mounts
    inner = api { get(:inner) { "" } }
    outer = api do
      behind max: 3
      mount inner
    end
    assert_equal [[3], [[0]]], [outer.gates.keys.map(&:running_max), outer.gates.values]
    assert_empty inner.gates
  end

  def test_a_wrong_bound_is_refused_with_what_is_right
    {
      proc { behind } => "behind accepts a pool with connections_max, or max:",
      proc { behind Object.new } => "behind accepts a pool with connections_max, or max:",
      proc { behind max: 0 } => "max: must be a whole number of 1 or more, not 0",
      proc { behind max: 1, queue_seconds: -1 } => "queue_seconds: must be a number of 0 or more, not -1",
      proc { behind max: 1, queue_max: 0.5 } => "queue_max: must be a whole number of 0 or more, not 0.5"
    }.each do |statement, message|
      assert_equal message, assert_raises(ArgumentError) { api(&statement) }.message
    end
  end
end

# frozen_string_literal: true

require "support/api_case"

# Layers of settings and what they mean together.
class APISettingsTest < Minitest::Test
  def setup
    @outer = Elah::Framework::Layer.new
    @inner = Elah::Framework::Layer.new
    @settings = Elah::Framework::Settings.new([@outer, @inner])
  end

  def test_the_innermost_single_value_wins
    @outer.single[:format] = :json
    assert_equal :json, @settings[:format]
    @inner.single[:format] = :txt
    assert_equal :txt, @settings[:format]
    assert_nil @settings[:prefix]
  end

  def test_a_false_value_counts
    @outer.single[:cascade] = true
    @inner.single[:cascade] = false
    assert_equal false, @settings[:cascade]
  end

  def test_stacked_values_join
    @outer.stacked[:before] << 1
    @inner.stacked[:before] << 2
    assert_equal [1, 2], @settings.stack(:before)
    assert_equal [2, 1], @settings.stack_from_innermost(:before)
  end

  def test_stacked_hashes_merge_and_the_inner_wins
    @outer.stacked[:types] << { a: 1, b: 1 }
    @inner.stacked[:types] << { b: 2 }
    assert_equal({ a: 1, b: 2 }, @settings.merged(:types))
  end

  def test_a_snapshot_does_not_change
    @outer.stacked[:before] << 1
    copy = @outer.snapshot
    @outer.stacked[:before] << 2
    @outer.single[:format] = :json
    assert_equal [1], copy.stacked[:before]
    assert_empty copy.single
  end
end

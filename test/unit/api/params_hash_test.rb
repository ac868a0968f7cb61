# frozen_string_literal: true

require "support/api_case"

# The hash that handlers call `params`.
class APIParamsHashTest < Minitest::Test
  Params = Elah::Framework::Params

  def setup
    @params = Params.from({ "a" => 1, "h" => { "x" => [{ "y" => 2 }] }, "n" => nil })
  end

  def test_symbols_find_string_keys
    assert_equal 1, @params[:a]
    assert_equal 1, @params["a"]
    assert @params.key?(:a)
    assert @params.include?(:n)
    assert_equal 1, @params.fetch(:a)
    assert_equal 5, @params.fetch(:zz, 5)
    assert_raises(KeyError) { @params.fetch(:zz) }
    assert_equal [1, nil], @params.values_at(:a, :zz)
    assert_equal 1, @params.delete(:a)
    refute @params.key?("a")
  end

  def test_nested_hashes_are_indifferent
    assert_equal 2, @params.dig(:h, :x, 0, :y)
    assert_instance_of Params, @params[:h][:x].first
    assert_nil @params.dig(:n, :x)
  end

  def test_what_is_put_in_becomes_indifferent
    @params[:new] = { b: { c: 1 } }
    assert_equal 1, @params["new"]["b"]["c"]
    @params.merge!(more: [{ d: 1 }])
    assert_equal 1, @params[:more].first[:d]
    assert_equal %w[a h n new more], @params.keys
  end

  def test_copies_stay_indifferent
    [@params.merge(z: 1), @params.slice(:a), @params.except(:h), @params.reject { |_, value| value.nil? }, @params.dup,
     @params.compact, @params.select { |key, _| key == "a" }, @params.transform_values(&:itself),
     @params.deep_stringify_keys, @params.transform_keys(&:to_sym), @params.reverse_merge(a: 5),
     @params.deep_merge(h: { z: 1 })].each do |copy|
      assert_instance_of Params, copy
      assert_equal 1, copy[:a]
    end
    assert_equal({ "a" => 1 }, @params.slice(:a, :missing))
  end

  # ActiveSupport gives these methods to every Hash, and there they compare symbols with the keys: `without(:password)`
  # returned the password, and `reverse_merge(page: 1)` had the page 1 beside the one of the client.
  def test_methods_of_active_support_accept_symbols
    assert_equal %w[h n], @params.without(:a).keys
    assert_equal %w[h n], @params.excluding(:a).keys
    assert_equal({ "a" => 1, "z" => { "q" => 2 } }, @params.reverse_merge(a: 5, z: { q: 2 }).slice(:a, :z))
    assert_equal 2, @params.with_defaults(z: { q: 2 })[:z][:q]
    assert_equal %w[h n], @params.slice!(:a).keys
    assert_equal %w[a], @params.keys
  end

  def test_renamed_keys_are_strings
    assert_equal 1, @params.transform_keys(&:upcase)[:A]
    assert_equal %w[z h n], @params.transform_keys({ a: :z }).keys
    assert_equal %w[A H N], @params.transform_keys!(&:upcase).keys
    assert_kind_of Enumerator, @params.transform_keys
  end

  def test_deep_merge
    original = @params[:h]
    @params.deep_merge!(h: { z: 1 }, a: 2)
    assert_equal({ "x" => [{ "y" => 2 }], "z" => 1 }, @params[:h])
    assert_equal 2, @params[:a]
    assert_equal %w[x], original.keys
    assert_equal ["a", 2, 3], @params.deep_merge(a: 3) { |*values| values }[:a]
    assert_equal 2, @params[:a]
  end

  def test_plain_hashes
    assert_equal({ "a" => 1, "h" => { "x" => [{ "y" => 2 }] }, "n" => nil }, @params.to_h)
    assert_instance_of Hash, @params.to_h["h"]
    assert_equal({ a: 1, h: { x: [{ y: 2 }] }, n: nil }, @params.deep_symbolize_keys)
    assert_equal %i[a h n], @params.symbolize_keys.keys
    assert_equal({ "A" => 1 }, Params.from({ "a" => 1 }).to_h { |key, value| [key.upcase, value] })
  end

  def test_serves_as_keywords_and_json
    assert_equal '{"a":1}', Elah::JSON.generate(Params.from({ "a" => 1 }))
    assert_equal 1, then_a(**@params.symbolize_keys.slice(:a))
  end

  private

  def then_a(a:) = a
end

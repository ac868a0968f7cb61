# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# What goes into a call and what comes out of it is nobody else's, as it is when the entity lives in another worker.
class EntityCopiesTest < EntityCase
  Point = Struct.new(:x, :tags)

  # Remembers what it gets and returns what it remembers.
  class Memory < Elah::Entity
    def restore = @value = {}

    def remember(value, **more)
      @value = more.empty? ? value : more
      nil
    end

    def value = @value
    def wait(gate) = gate.pop && @value
    def fail_with_value = raise(Elah::Entity::Refusal, @value.inspect)

    def write_and_return(value)
      state.put("written", "yes")
      @value = -> { value }
    end

    def written = state.get("written")
  end

  MUTABLE = [+"text", [1, [+"a"]], { a: { "b" => [+"c"] } }, { [1] => +"key" }, Point.new(1, [+"tag"]), [[], {}]].freeze

  def setup
    super
    @memories = Memory.in(@store)
  end

  def each_way
    yield "outside a loop", ->(name, *arguments) { @memories["1"].public_send(name, *arguments) }
    yield "many", ->(name, *arguments) { one(@memories.call_many([["1", name, *arguments]]).first) }
    gathered = lambda do |name, *arguments|
      Elah.run do
        Elah.gather { |gather| gather.call(:a, @memories["1"].deferred.public_send(name, *arguments)) }[:a].value
      end
    end
    yield "gathered", gathered
  end

  def test_a_result_that_is_changed_changes_no_entity
    each_way do |way, call|
      MUTABLE.each do |value|
        @memories["1"].remember(Marshal.load(Marshal.dump(value)))
        call.(:value).then { |answer| change(answer) }
        assert_equal value, call.(:value), way
      end
    end
  end

  def test_an_argument_that_is_changed_afterwards_changes_no_entity
    each_way do |way, call|
      MUTABLE.each do |value|
        given = Marshal.load(Marshal.dump(value))
        call.(:remember, given)
        change(given)
        assert_equal value, @memories["1"].value, way
      end
    end
    @memories["1"].remember(nil, tags: tags = [+"a"])
    tags << "b"
    assert_equal({ tags: ["a"] }, @memories["1"].value)
  end

  def test_what_nobody_can_change_is_not_copied
    ["frozen", :symbol, 1, 1 << 70, 1.5, nil, true].each do |value|
      @memories["1"].remember(value)
      assert_same value, @memories["1"].value
    end
  end

  def test_what_ractors_may_share_is_not_copied
    [[[+"a"], { a: [+"b"] }], { "a" => [+"b"] }, Point.new(1, [+"tag"])].each do |value|
      shared = Ractor.make_shareable(value)
      @memories["1"].remember(shared)
      assert_same shared, @memories["1"].value
      @memories["1"].remember([shared])
      assert_same shared, @memories["1"].value.first
    end
  end

  def test_what_is_frozen_on_the_outside_alone_is_copied
    [[+"a"].freeze, { a: [+"b"].freeze }.freeze, Point.new(1, [+"tag"]).freeze].each do |value|
      @memories["1"].remember(value)
      refute_same value, @memories["1"].value
      assert_equal value, @memories["1"].value
    end
  end

  def test_copies_are_as_marshal_makes_them
    text = +"\xff\xfe"
    circle = []
    circle << circle
    twice = +"twice"
    deep = (1..200).reduce([]) { |inner, _| [inner] }
    many = Array.new(30_000) { |n| n.to_s }
    named = self.class.const_set(:Text, Class.new(String))
    [text, text.b, "ä".encode("UTF-16LE"), circle, [twice, twice], deep, many, Hash.new(0).merge(a: 1),
     { a: 1 }.compare_by_identity, Time.at(0, 5, :nsec), 1..2, Rational(1, 3), Comparable, "a".b.freeze,
     named.new("x")].each do |value|
      @memories["1"].remember(value)
      copy = @memories["1"].value
      expected = Marshal.load(Marshal.dump(value))
      assert_equal expected.inspect, copy.inspect
      assert_equal [expected.class, expected.is_a?(String) && expected.encoding],
                   [copy.class, copy.is_a?(String) && copy.encoding]
    end
  ensure
    self.class.send(:remove_const, :Text)
  end

  def test_what_cannot_be_copied_is_refused_by_name_and_leaves_nothing
    each_way do |way, call|
      error = assert_raises(Elah::Entity::NotSerializable, way) { call.(:remember, 1, -> {}) }
      assert_match(/\AEntityCopiesTest::Memory#remember: argument 2 \(Proc\) cannot be copied: .*Proc/,
                   error.message, way)
      error = assert_raises(Elah::Entity::NotSerializable, way) { call.(:remember, { a: [$stdout] }) }
      assert_match(/#remember: argument 1 \(Hash\) cannot be copied: .*IO/, error.message, way)
      error = assert_raises(Elah::Entity::NotSerializable, way) { call.(:write_and_return, 1) }
      assert_match(/\AEntityCopiesTest::Memory#write_and_return: its result \(Proc\) cannot be copied/,
                   error.message, way)
      assert_nil call.(:written), "#{way}: nothing of the call is stored"
      assert_equal({}, call.(:value), "#{way}: the entity is what is stored")
      error = assert_raises(Elah::Entity::NotSerializable, way) { call.(:remember, Hash.new { 1 }) }
      assert_match(/default proc/, error.message, way)
    end
  end

  # A deadline, a cancellation or an interrupt that comes while a value is copied.
  Interrupted = Struct.new(:error) do
    def marshal_dump = raise(error)
  end
  private_constant :Interrupted

  def test_what_ends_a_copy_from_outside_stays_what_it_is
    [Elah::Cancelled.new("gone"), Interrupt.new("stop"), SystemExit.new].each do |error|
      assert_same error, (assert_raises(error.class) { @memories["a"].remember(Interrupted.new(error)) })
    end
  end

  def test_one_of_many_calls_that_cannot_be_made_holds_up_none_of_the_others
    answers = @accounts.call_many([["1", :deposit, 1], ["1", :deposit, -> {}], ["2", :deposit, 2], ["1", :balance]])
    assert_instance_of Elah::Entity::NotSerializable, answers.delete_at(1)
    assert_equal [1, 2, 1], answers
  end

  def test_a_call_that_is_made_again_gets_what_the_caller_gave
    tries = 0
    changing = accounts("changing") do
      define_method(:append) do |list|
        list << 1
        raise Elah::Store::Fenced, "as if another process had claimed it" if (tries += 1) == 1

        list
      end
    end
    given = [0]
    assert_equal [0, 1], changing["1"].append(given)
    assert_equal [0], given
  end

  def test_a_reference_stands_for_the_same_entity_on_the_other_side
    @memories["1"].remember([@accounts["7"]])
    @memories["1"].value.first.deposit(3)
    assert_equal 3, @accounts["7"].balance
  end

  private

  def change(value)
    case value
    when String then value << "!" unless value.frozen?
    when Hash then value.each { |key, inner| change(key) && change(inner) } && value.store(:new, 1)
    when Array, Struct then value.each { |inner| change(inner) } && (value.is_a?(Array) ? value << 1 : value.x = 9)
    end
    true
  end
end

# frozen_string_literal: true

require "test_helper"
require "set"
require "support/entity_case"
require "support/replaced_method"
require "support/timed_store"

# Calls under an idempotency key.
class EntityOnceTest < EntityCase
  include ReplacedMethod
  include TimedStore

  Once = Elah::Entity::Once

  # Counts its calls.
  class Till < Elah::Entity
    entity_name "tills"

    class Closed < Elah::Entity::Refusal; end

    attr_reader :calls

    def restore = @calls = state.get("calls").to_i

    def take(value, *, **)
      state.put("calls", (@calls += 1).to_s)
      value
    end

    def take_later(gate, value)
      gate.pop
      take(value)
    end

    def refuse = raise(Closed, "closed #{@calls}")

    def fail_after_write(error)
      take(1)
      raise error, "failed"
    end

    def unwritable = take(1) && -> {}
    def large(bytes) = take(1) && ("x" * bytes)
    def own = state.range
    def touch = state.put("touched", "yes")
  end

  def setup
    super
    @tills = Till.in(@timed)
  end

  def till = @tills["1"]

  # A stored result may have a reference, which is read also after the data folder was restored elsewhere.
  def test_the_store_is_the_same_wherever_its_data_folder_lies
    folder = Struct.new(:data).new(File.dirname(@timed.dir))
    replacing(Elah, :config, -> { folder }) { assert_equal File.basename(@timed.dir), @timed.identity }
  end

  # As behind Capistrano's `current`. The store had its whole path, so references of before a move were not found.
  def test_the_store_is_the_same_behind_a_symbolic_link
    link = "#{@timed.dir}.link"
    File.symlink(File.dirname(@timed.dir), link)
    folder = Struct.new(:data).new(link)
    replacing(Elah, :config, -> { folder }) { assert_equal File.basename(@timed.dir), @timed.identity }
  ensure
    File.delete(link)
  end

  def test_a_repeated_call_returns_the_stored_result_and_does_not_run
    first = till.once("k").take({ "a" => [1, :b, nil, 2.5, "text"] })
    assert_equal({ "a" => [1, :b, nil, 2.5, "text"] }, first)
    first["a"] << "changed by the caller"
    assert_equal({ "a" => [1, :b, nil, 2.5, "text"] }, till.once("k").take({ "a" => [1, :b, nil, 2.5, "text"] }))
    assert_equal 1, till.calls
  end

  def test_another_key_and_another_entity_run
    till.once("k").take(1)
    till.once("l").take(1)
    @tills["2"].once("k").take(1)
    assert_equal 2, till.calls
    assert_equal 1, @tills["2"].calls
  end

  def test_nil_and_false_are_results
    [nil, false].each_with_index do |value, index|
      2.times { assert_equal [value], [till.once("k#{index}").take(value)] }
      assert_equal index + 1, till.calls
    end
  end

  # Its own method was called in the place of Ruby's: nothing was stored, and the call ran again.
  Beer = Struct.new(:name, :tap)
  def test_a_result_may_have_a_method_tap
    2.times { assert_equal Beer.new("stout", 3), @tills["1"].once("beer").take(Beer.new("stout", 3)) }
    assert_equal 1, @tills["1"].calls
  end

  # The class was asked, and left the amount out: the stored result was that of another call.
  Payment = Struct.new(:id, :amount) { def to_h = { id: id } }
  Seat = Struct.new(:class, :row)
  def test_arguments_with_methods_of_their_own_are_told_apart
    @tills["1"].once("payment").take(Payment.new(1, 10))
    assert_raises(Elah::Entity::IdempotencyKeyReused) { @tills["1"].once("payment").take(Payment.new(1, 99)) }
    2.times { assert_equal Seat.new("eco", 3), @tills["1"].once("seat").take(Seat.new("eco", 3)) }
    assert_equal 2, @tills["1"].calls
  end

  def test_a_result_outlives_the_entity_in_memory
    till.once("k").take("result")
    @tills.reset
    assert_equal "result", till.once("k").take("result")
    assert_equal 1, till.calls
  end

  def test_results_are_no_part_of_the_state
    till.once("k").take(1)
    assert_equal [["calls", "1"]], till.own
  end

  def test_a_key_with_another_method_or_other_arguments_is_refused
    till.once("k").take(1, [2], by: 3)
    others = [[:take, [2, [2]], { by: 3 }], [:take, [1, [2, 2]], { by: 3 }], [:take, [1, [2]], { by: 4 }],
              [:take, [1.0, [2]], { by: 3 }], [:take, ["1", [2]], { by: 3 }], [:large, [1], {}]]
    others.each do |name, arguments, keywords|
      reused = Elah::Entity::IdempotencyKeyReused
      error = assert_raises(reused) { till.once("k").public_send(name, *arguments, **keywords) }
      assert_equal [422, "idempotency_key_reused"], [error.status, error.code]
      assert_match(/key k belongs to another call of tills\[1\]/, error.message)
    end
    assert_equal 1, till.calls
  end

  def test_equal_arguments_are_the_same_whichever_objects_they_share
    text = "text"
    circle = []
    circle << circle
    pairs = [[[text, text], ["text", +"text"]], [{ a: 1, b: 2 }, { b: 2, a: 1 }], ["text".b, "text"], [circle, circle],
             [Time.at(0), Time.at(0)], [Time.at(0, in: "+02:00"), Time.at(0).utc],
             [Point.new(text, [text]), Point.new("text", [+"text"])], [Set["a", "b"], Set["b", "a"]],
             [text..text, "text"..(+"text")]]
    pairs.each_with_index do |(first, second), index|
      till.once("k#{index}").take(1, first)
      till.once("k#{index}").take(1, second)
      assert_equal index + 1, till.calls
    end
  end

  Point = Struct.new(:x, :y)
  Place = Struct.new(:x, :y)

  def test_values_that_look_alike_in_a_digest_differ
    values = [nil, "nil", :nil, ["a", "b"], ["ab"], [["a"], "b"], { "a" => "b" }, [["a", "b"]], 1, "1", true, "true",
              [], {}, Point.new(1, 2), Place.new(1, 2), Point.new(2, 1), ["EntityOnceTest::Point", { x: 1, y: 2 }],
              Set[1, 2], Set[1], 1..2, 1...2, Time.at(1), Time.at(1, 1, :nsec)]
    digests = values.map { |value| Once::Arguments.digest(:take, [value]) }
    assert_equal values.size, digests.uniq.size
  end

  def test_a_call_that_raised_is_not_stored
    2.times do |n|
      assert_equal "closed #{n}", assert_raises(Till::Closed) { till.once("k").refuse }.message
      till.take(0)
    end
    [ArgumentError, Till::Closed].each do |error|
      assert_raises(error) { till.once("l").fail_after_write(error) }
      assert_equal 2, till.calls
    end
    assert_equal "ran", till.once("l").take("ran")
  end

  def test_two_at_once_run_one_time
    Elah.run do
      gate = Gate.new
      calls = Array.new(3) { Elah.async { till.once("k").take_later(gate, "result") } }
      gate << nil
      assert_equal %w[result] * 3, calls.map(&:value)
      assert_equal 1, till.calls
    end
  end

  # The second is there while the first one's commit is on its way.
  def test_many_keys_at_once_each_run_one_time
    Elah.run do
      calls = Array.new(200) { |n| Elah.async { till.once("k#{n % 50}").take(n % 50) } }
      assert_equal Array.new(200) { |n| n % 50 }, calls.map(&:value)
      assert_equal 50, till.calls
      assert_equal Array.new(50) { |n| n }, Array.new(50) { |n| till.once("k#{n}").take(n) }
      assert_equal 50, till.calls
    end
  end

  def test_a_result_expires
    till.once("k", ttl: 10).take(1)
    @clock.advance(9.9)
    till.once("k", ttl: 10).take(1)
    assert_equal 1, till.calls
    @clock.advance(0.2)
    till.once("k", ttl: 10).take(1)
    assert_equal 2, till.calls
  end

  def test_a_deferred_call_has_the_key_too
    Elah.run do
      2.times do
        results = Elah.gather { |gather| gather.call(:a, till.once("k").deferred.take("result")) }
        assert_equal "result", results[:a].value
      end
      assert_equal 1, till.calls
      assert_raises(NoMethodError) { till.deferred.once("k") }
    end
  end

  def test_a_key_is_checked
    [nil, "", "x" * 201].each do |key|
      error = assert_raises(Elah::Entity::IdempotencyKeyInvalid) { till.once(key) }
      assert_equal [400, "idempotency_key_invalid"], [error.status, error.code]
      assert_match(/1 to 200 bytes, not (none|0|201)/, error.message)
    end
    assert_raises(ArgumentError) { till.once(1) }
    [0, -1, Float::NAN, Once::SECONDS_MAX + 1, "1", Complex(1, 1), nil].each do |ttl|
      assert_match(/ttl/, assert_raises(ArgumentError) { till.once("k", ttl: ttl) }.message)
    end
  end

  def test_the_longest_key_of_the_longest_entity
    entity = @tills["\xff".b * Elah::Entity::Collection::KEY_BYTES_MAX]
    2.times { assert_equal 1, entity.once("\xff".b * Once::KEY_BYTES_MAX).take(1) }
    assert_equal 1, entity.calls
  end

  def test_an_entity_stores_as_many_results_as_it_may
    Elah.config = Elah::Config.build(entity_once_max: 3)
    tills = Class.new(Till) { entity_name "few" }.in(@timed)
    3.times { |n| tills["1"].once("k#{n}", ttl: 10).take(n) }
    tills.reset
    assert_match(/few\[1\] stores 3 results/, assert_raises(Elah::Overloaded) { tills["1"].once("k3").take(3) }.message)
    assert_equal 0, tills["1"].once("k0", ttl: 10).take(0)
    assert_equal 3, tills["1"].calls
    assert_equal 4, tills["2"].once("k4").take(4)
    @clock.advance(11)
    tills.reset
    assert_equal 3, tills["1"].once("k3").take(3)
  ensure
    Elah.config = nil
  end

  def test_what_cannot_be_copied_is_named_by_the_method
    error = assert_raises(Elah::Entity::NotSerializable) { till.once("k").take(-> {}) }
    assert_match(/Till#take: argument 1 \(Proc\)/, error.message)
    error = assert_raises(Elah::Entity::NotSerializable) { till.once("k").unwritable }
    assert_match(/Till#unwritable: its result \(Proc\)/, error.message)
    assert_raises(Elah::Store::TooLarge) { till.once("k").large(70_000) }
    assert_equal 0, till.calls
  end

  def test_a_reference_with_a_key_is_no_argument
    assert_raises(Elah::Entity::NotSerializable) { till.take(@tills["2"].once("k")) }
  end

  def test_a_lost_batch_loses_the_result_with_the_change
    small = Dir.mktmpdir("elah-small")
    store = Elah::Store.open(small, bytes_max: 1024**2)
    tills = Till.in(store)
    table = store.table("filling")
    assert_raises(Elah::Store::Full) { 1000.times { |n| table.put(n.to_s, "x" * 60_000) } }
    assert_raises(Elah::Store::Full) { 100.times { |n| tills["1"].once("k#{n}").large(60_000) } }
    17.times { |n| table.delete(n.to_s) }
    calls = tills["1"].calls
    last = "k#{calls}" # the first that was not stored
    tills["1"].once(last).take(1)
    assert_equal calls + 1, tills["1"].calls
  ensure
    store.close
    FileUtils.remove_entry(small)
  end
end

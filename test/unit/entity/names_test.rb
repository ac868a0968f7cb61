# frozen_string_literal: true

require "test_helper"
require "support/timers_case"

# The names that an app gives to the methods and the instance variables of its entities.
class EntityNamesTest < TimersCase
  # A licence that has a key, a state and indexes of its own.
  class Licence < Elah::Entity
    entity_name "licences"
    index :issued

    NAMES = %i[
      key state index indexes collection timer timers once commits shard rows time store id name status env request
      params headers body config options logger durability reads calls
    ].freeze
    ENDED = Queue.new

    def restore
      @count = state.get("count").to_i
      take_names(state.get("secret"))
    end

    def issue(secret, time)
      take_names(secret)
      state.put("secret", secret)
      index(:issued).put(key, secret)
      wake_at(time)
    end

    def use = state.put("count", (@count += 1).to_s) || @count
    def names = NAMES.map { |name| instance_variable_get("@#{name}") }.uniq

    private

    def woken = ENDED << key
    def take_names(secret) = NAMES.each { |name| instance_variable_set("@#{name}", secret) }
  end

  # An order with methods where Elah has, or Ruby.
  class Order < Elah::Entity
    entity_name "orders"
    FIRED = Queue.new

    def restore = @state = stored.get("state") || "new"
    attr_reader :state

    def pay(time)
      stored.put("state", @state = "paid")
      wake_at(time)
      @state
    end

    def index(*) = "Elah does not call it"
    def timer(*) = "Elah does not call it"
    def raise(amount) = "#{state}, #{amount} more"
    def tap = "a tap"

    private

    def key = "the key of another"
    def stored = Elah::Entity.instance_method(:state).bind_call(self)
    def woken = FIRED << state
  end

  # What the names of Object's methods mean in a bank and in a chat.
  class Card < Elah::Entity
    entity_name "cards"
    WORDS = %i[
      send extend display dup clone tap then method methods public_send itself to_enum enum_for singleton_class
      singleton_methods define_singleton_method public_method private_methods raise format open test system exit
    ].freeze

    def restore = @is_frozen = state.get("frozen") == "yes"

    def freeze
      state.put("frozen", "yes")
      @is_frozen = true
    end

    def charge(amount) = @is_frozen ? :refused : amount

    WORDS.each { |word| define_method(word) { |*arguments| [word, *arguments] } }

    # A card may have its own ones; a reference has those of every object.
    def inspect = "Card"
    def to_s = "Card"
    def hash = 7
    def ==(other) = other.is_a?(Card)
    def eql?(_other) = true
    def <=>(_other) = 0
    def respond_to?(*) = true
    def method_missing(name, *) = name
  end

  # A module that brings the word.
  module Freezing
    def freeze = "frozen by a module"
  end

  def setup
    super
    @licences = Licence.in(@timed)
    @orders = Order.in(@timed)
    @cards = Card.in(@timed)
  end

  def next_of(queue) = Elah.timeout(patience_seconds) { queue.pop }

  # With a `@key` of their own, thousands of wallets shared one result: deposits were acknowledged, and not stored.
  def test_entities_with_any_instance_variables_share_no_results_of_once
    keys = %w[ann bob eve]
    2.times do
      keys.each { |key| assert_equal 1, @licences[key].once("1").use }
      @licences.reset # their results are read from the store
    end
    @licences[keys.first].issue("bob", nil)
    assert_equal 1, @licences["ann"].once("1").use
    assert_equal 2, @licences["ann"].once("2").use
  end

  # The timer of a licence whose secret was the key of another one fired there, or never.
  def test_entities_with_any_instance_variables_have_their_own_timers_and_rows
    Elah.run do
      @licences["ann"].issue("bob", at(0))
      assert_equal "ann", next_of(Licence::ENDED)
      assert_equal ["bob"], @licences["ann"].names
    end
    assert_equal [%w[ann bob]], @licences.index(:issued).range
    @licences.reset
    assert_equal ["bob"], @licences["ann"].names
  end

  # Elah called them: a state machine could not write, and timers and results had the key that it returned.
  def test_an_entity_may_have_methods_in_the_place_of_elahs
    Elah.run do
      assert_equal "paid", @orders["7"].once("1").pay(at(0))
      assert_equal "paid", next_of(Order::FIRED)
    end
    @orders.reset
    assert_equal "paid", @orders["7"].once("1").pay(at(0))
    assert_equal "paid", @orders["7"].state
    assert_equal "new", @orders["the key of another"].state
    assert_equal "paid, 5 more", @orders["7"].raise(5)
    assert_equal "a tap", @orders["7"].tap
  end

  # The entity's `raise` was called in place of Ruby's.
  def test_a_call_with_a_block_is_refused_also_where_an_entity_can_raise
    hands = accounts("hands") { define_method(:raise) { |*| "raised" } }
    assert_match(/does not accept a block/, assert_raises(ArgumentError) { hands["7"].balance { nil } }.message)
    assert_equal "raised", hands["7"].raise
  end

  # `Card#freeze` returned the reference, and stored nothing.
  def test_a_method_of_an_entity_may_have_the_name_of_one_of_every_object
    cards = %w[1 2 3 4 5]
    assert_equal true, @cards["1"].freeze
    assert_equal true, @cards["2"].once("k").freeze
    assert_equal [true], @cards.call_many([["3", :freeze]])
    Elah.run do
      results = Elah.gather do |gather|
        gather.call(4, @cards["4"].deferred.freeze)
        gather.call(5, @cards["5"].once("k").deferred.freeze)
      end
      assert_equal [true, true], results.values
    end
    assert_equal [:refused], cards.map { |key| @cards[key].charge(10) }.uniq
    refute_predicate @cards["1"], :frozen?
  end

  # A text of a client, as of a message in a chat room, named the method of the reference that `send` called.
  def test_an_entity_gets_the_words_that_ruby_has_for_every_object
    Card::WORDS.each do |word|
      assert_equal [word, "a text"], @cards["1"].__send__(word, "a text"), word
      assert_equal [[word, "a text"]], @cards.call_many([["1", word, "a text"]]), word
    end
  end

  def test_a_method_of_a_module_or_a_superclass_counts
    included = Class.new(Elah::Entity) { entity_name("included") && include(Freezing) }.in(@timed)
    prepended = Class.new(Elah::Entity) { entity_name("prepended") && prepend(Freezing) }.in(@timed)
    inherited = Class.new(Card) { entity_name "inherited" }.in(@timed)
    hidden = Class.new(Card) { entity_name("hidden") && private(:freeze) }.in(@timed)
    assert_equal ["frozen by a module"] * 2, [included["1"].freeze, prepended["1"].freeze]
    assert_equal true, inherited["1"].freeze
    assert_same (card = hidden["1"]), card.freeze
    assert_kind_of NoMethodError, hidden.call_many([["1", :freeze]]).first
  end

  # Marshal, hashes and messages need those of the reference.
  def test_a_reference_is_itself_whatever_its_entity_defines
    card = @cards["1"]
    assert_equal "#<cards[\"1\"]>", card.inspect
    refute_equal 7, card.hash
    refute_equal card, @cards["2"]
    refute_respond_to card, :unknown
    assert_raises(NoMethodError) { card.unknown }
    assert_equal "1", Marshal.load(Marshal.dump(card)).key
    assert_kind_of NoMethodError, @cards.call_many([["1", :inspect]]).first
  end

  # The reference answered in place of the entity.
  def test_a_name_of_the_reference_itself_is_refused
    %i[key once deferred class frozen? nil? is_a? instance_eval].each do |name|
      entities = Class.new(Elah::Entity) do
        entity_name "refused"
        class_eval("def #{name}(*) = nil", __FILE__, __LINE__)
      end
      error = assert_raises(ArgumentError, name) { entities.in(@timed) }
      assert_match(/##{Regexp.escape(name)}: a reference has another method of this name/, error.message)
      entities.send(:private, name)
      assert_empty entities.calls
    end
  end
end

# frozen_string_literal: true

# Covers what a ranked set answers as JSON: the same as its objects, written by Elah::JSON; rows that an entity's call
# stores with it; names that are no text; blocks that do what they should not.
require "test_helper"
require "support/entity_case"
require "bigdecimal"

class RankedSetTextsTest < Minitest::Test
  STYLES = %i[ordinal dense competition modified fractional].freeze

  def filled(**settings)
    Elah::RankedSet.new(**settings).tap { |set| yield set }
  end

  # What an app would write of a Row or a Submission.
  def json(standing)
    names = %i[rank member score]
    names += %i[previous_rank previous_score changed] unless standing.is_a?(Elah::RankedSet::Row)
    hash = standing.to_h.slice(*names)
    Elah::JSON.generate(hash.sort_by { |name, _| %i[rank member score previous_rank].index(name) || 9 }.to_h)
  end

  def list(rows) = "[#{rows.map { |row| json(row) }.join(',')}]"

  def test_rows_are_as_objects_would_be_written
    scores = { "ann" => 100, "b\"\\\u0001\u00e9" => 90, "\u{1f600}" * 20 => 90, "" => -(2**63) }
    set = filled { |it| scores.each { |name, score| it.submit(name, score) } }
    STYLES.each do |style|
      assert_equal json(set["ann", style: style]), set.row_json("ann", style: style)
      assert_equal list(set.top(3, style: style)), set.top_json(3, style: style)
      assert_equal list(set.range(2..9, style: style)), set.range_json(2..9, style: style)
      assert_equal list(set.around("", 1, style: style)), set.around_json("", 1, style: style)
    end
    assert_equal [nil, nil, "[]", "[]"],
                 [set.row_json("eve"), set.around_json("eve", 1), set.top_json(0), set.range_json(9..)]
    assert_equal [Encoding::UTF_8, true], [set.top_json(9).encoding, set.top_json(9).valid_encoding?]
    assert_predicate set.row_json("ann"), :ascii_only?
  end

  def test_scores_keep_their_digits
    set = filled(order: %i[desc asc], decimals: [0, 3]) { |it| it.submit("ann", [12, "-0.05"]) }
    assert_equal '{"rank":1,"member":"ann","score":[12,"-0.050"]}', set.row_json("ann")
    assert_equal '{"rank":1,"member":"bob","score":[13,"1.000"],"previous_rank":null,"previous_score":null,' \
                 '"changed":true}', set.submit_json("bob", [13, 1])
    assert_equal '[{"rank":1,"member":"ann","score":"1.50"}]',
                 filled(decimals: 2) { |it| it.submit("ann", 1.5) }.top_json(1)
    assert_equal '{"rank":1.0,"member":"ann","score":1}',
                 filled { |it| it.submit("ann", 1) }.row_json("ann", style: :fractional)
  end

  def test_a_submission_says_what_it_did
    sets = Array.new(2) { filled { |it| it.submit("bob", 5) } }
    [["ann", 9, {}], ["ann", 8, {}], ["ann", 1, { operator: :set, style: :dense }],
     ["bob", 3, { operator: :increment }], ["bob", 0, { operator: :last }]].each do |member, score, how|
      assert_equal json(sets[0].submit(member, score, **how)), sets[1].submit_json(member, score, **how)
    end
  end

  def test_a_refused_submission_changes_nothing
    set = filled(members_max: 1) { |it| it.submit("ann", 1) }
    version = set.version
    assert_raises(Elah::RankedSet::InvalidScore) { set.submit_json("ann", "NaN") }
    assert_raises(Elah::RankedSet::Full) { set.submit_json("bob", 1) }
    assert_raises(Elah::RankedSet::InvalidMember) { set.submit_json("x" * 10_241, 1) }
    assert_raises(ArgumentError) { set.submit_json("ann", 2, operator: :ordinal) }
    assert_raises(ArgumentError) { set.submit_json("ann", 2, style: :best) }
    assert_raises(TypeError) { set.submit_json("ann", 2, index: "members") }
    assert_raises(Elah::JSON::GenerateError) { set.submit_json("\xff", 2) }
    assert_equal [1, 1, version], [set.size, set.score("ann"), set.version]
    set.submit("ann", 2)
    assert_operator set.version, :>, version
  end

  def test_a_name_that_is_no_text_has_no_json
    set = filled { |it| it.submit("\xff", 1) }
    [-> { set.top_json(1) }, -> { set.row_json("\xff") }, -> { set.top_json(1) { nil } }].each do |call|
      assert_match(/no valid UTF-8/, assert_raises(Elah::JSON::GenerateError, &call).message)
    end
    assert_equal 1, set.top(1).size
  end

  def test_a_block_gives_more_of_each_member
    set = filled { |it| { "ann" => 2, "bob" => 1 }.each { |member, score| it.submit(member, score) } }
    more = ->(member) { %(,"flag":"#{member[0]}\u00e4") if member == "bob" }
    assert_equal %([{"rank":1,"member":"ann","score":2},{"rank":2,"member":"bob","score":1,"flag":"b\u00e4"}]),
                 set.top_json(9, &more)
    assert_equal %({"rank":2,"member":"bob","score":1,"flag":"b\u00e4"}), set.row_json("bob", &more)
    assert_equal %([{"rank":1,"member":"ann","score":2}]), set.around_json("ann", 0, &more)
    assert_raises(TypeError) { set.top_json(1) { 1 } }
    assert_raises(Elah::JSON::GenerateError) { set.top_json(1) { "\xff" } }
    assert_raises(KeyError) { set.top_json(1) { raise KeyError } }
    assert_equal :left, set.top_json(1) { break :left }
  end

  # The block is called while nothing of the set is held.
  def test_a_block_may_change_the_set
    set = filled { |it| { "ann" => 2, "bob" => 1 }.each { |member, score| it.submit(member, score) } }
    text = set.top_json(9) do |member|
      set.delete(member)
      GC.start
      nil
    end
    assert_equal '[{"rank":1,"member":"ann","score":2},{"rank":2,"member":"bob","score":1}]', text
    assert_predicate set, :empty?
  end
end

# A set whose rows are stored with the call of an entity.
class RankedSetInEntityTest < EntityCase
  class Ladder < Elah::Entity
    index :rows

    class << self
      attr_accessor :store
    end

    def restore = @set = Elah::RankedSet.load(Ladder.in(Ladder.store).index(:rows), prefix: key)
    def submit(member, score, prefix = key) = @set.submit_json(member, score, index: index(:rows), prefix: prefix)

    def submit_and_fail(member, score)
      submit(member, score)
      raise "broken"
    end

    def top = @set.top_json(9)
    def stored_top = Elah::RankedSet.load(index(:rows), prefix: key).top_json(9)
  end

  def setup
    super
    @ladders = Ladder.in(Ladder.store = @store)
  end

  def test_rows_are_stored_with_the_call_and_only_then
    assert_equal '{"rank":1,"member":"ann","score":3,"previous_rank":null,"previous_score":null,"changed":true}',
                 @ladders["a"].submit("ann", 3)
    @ladders["a"].submit("ann", 2)
    assert_raises(RuntimeError) { @ladders["a"].submit_and_fail("bob", 9) }
    assert_equal '[{"rank":1,"member":"ann","score":3}]', @ladders["a"].top
    loaded = Elah::RankedSet.load(@ladders.index(:rows), prefix: "a")
    assert_equal [["ann", 1, 3]], loaded.top(9).map(&:to_a)
    assert_equal loaded.row(loaded.decide("ann", 4), prefix: "a").first, @ladders.index(:rows).range.map(&:first).first
  end

  def test_a_set_is_loaded_from_the_index_of_its_entity
    @ladders["a"].submit("ann", 3)
    @ladders["b"].submit("bob", 4)
    assert_equal '[{"rank":1,"member":"ann","score":3}]', @ladders["a"].stored_top
  end

  def test_a_prefix_that_is_too_long_stores_nothing
    assert_raises(Elah::RankedSet::InvalidPrefix) { @ladders["a"].submit("ann", 3, "x" * 223) }
    assert_equal ["[]", []], [@ladders["a"].top, @ladders.index(:rows).range]
  end
end

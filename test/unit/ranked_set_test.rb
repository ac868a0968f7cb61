# frozen_string_literal: true

# Covers Elah::RankedSet as Ruby sees it: scores of all kinds, ranks, pages, statistics, what wrong arguments are told,
# and a comparison with a sorted Array.
require "test_helper"
require "bigdecimal"

class RankedSetTest < Minitest::Test
  STYLES = { ordinal: [1, 2, 3, 4], dense: [1, 2, 2, 3], competition: [1, 2, 2, 4], modified: [1, 3, 3, 4],
             fractional: [1.0, 2.5, 2.5, 4.0] }.freeze

  def set_of(scores, **settings)
    Elah::RankedSet.new(**settings).tap { |set| scores.each { |member, score| set.submit(member.to_s, score) } }
  end

  def four = set_of({ ann: 100, bob: 90, cid: 90, dan: 80 })

  def test_a_submission_tells_both_ranks
    set = four
    submission = set.submit("dan", 95)
    assert_equal ["dan", 95, 2, 80, 4, true, false], [*submission.to_a.first(5), submission.changed?, submission.new?]
    beaten = set.submit("dan", 1)
    assert_equal [95, 2, 2, false], [beaten.score, beaten.rank, beaten.previous_rank, beaten.changed?]
    assert_predicate set.submit("eve", 1), :new?
    assert_equal 3, set.submit("eve", 90, style: :competition).rank
    fallen = set.submit("eve", -1, operator: :set, style: :modified)
    assert_equal [5, 5, 3],
                 [fallen.rank, fallen.previous_rank, set.submit("eve", 90, operator: :set, style: :competition).rank]
  end

  def test_every_style_from_one_set
    set = four
    STYLES.each do |style, ranks|
      assert_equal ranks, %w[ann bob cid dan].map { |member| set.rank(member, style: style) }
      assert_equal ranks, set.top(9, style: style).map(&:rank)
      assert_equal ranks.last(3), set.range(2.., style: style).map(&:rank)
    end
    assert_nil set.rank("eve")
  end

  def test_many_at_once
    set = four
    assert_equal [1, 2, nil, 4], set.ranks(%w[ann bob nobody dan])
    assert_equal [2.5, 2.5], set.ranks(%w[bob cid], style: :fractional)
    assert_equal [], set.ranks([])
    assert_equal 2, set.submit_all({ "ann" => 1, "dan" => 95, "eve" => 7 })
    assert_equal 2, set.submit_all([["ann", 1], ["ann", 2], ["bob", 0]], operator: :increment)
    assert_equal [["ann", 103], ["dan", 95], ["bob", 90], ["cid", 90], ["eve", 7]],
                 set.top(9).map { |row| [row.member, row.score] }
    assert_raises(Elah::RankedSet::InvalidScore) { set.submit_all([["ann", 1000], ["bob", "NaN"]]) }
    assert_equal 103, set.score("ann")
    [-> { set.ranks([1]) }, -> { set.submit_all([[nil, 1]]) }].each { |call| assert_raises(TypeError, &call) }
    assert_raises(ArgumentError) { set.ranks(%w[ann], style: :best) }
    assert_raises(ArgumentError) { set.submit_all([], operator: :ordinal) }
  end

  def test_operators
    set = set_of({ ann: 10 })
    after = ->(score, operator) { set.submit("ann", score, operator: operator).score }
    assert_equal [10, 12, 12, 3, 3, 5, 1],
                 [after.(9, :best), after.(12, :max), after.(11, :max), after.(3, :min), after.(4, :min),
                  after.(2, :increment), after.(1, :set)]
    assert_equal 7, after.(7, :last)
    assert_equal 3, set_of({ ann: 5, bob: 3 }, order: :asc).submit("ann", 3).score
  end

  # A search for a new member never ended after about 200 steps, and the process could only be killed.
  def test_few_members_that_come_and_go
    random = Random.new(1)
    set = Elah::RankedSet.new
    members = {}
    (1..5000).each do |number|
      if members.size < 8
        set.submit("m#{number}", members["m#{number}"] = number)
      else
        member = members.keys[random.rand(8)]
        assert_equal members.delete(member), set.delete(member).to_i
      end
      assert_nil set.rank("nobody")
    end
    assert_equal members, set.each.to_h { |row| [row.member, row.score] }
  end

  def test_reading_ranges
    set = set_of((1..50).to_h { |n| ["m#{n}", n] })
    assert_equal %w[m50 m49], set.top(2).map(&:member)
    assert_equal [9, 10, 11, 12], set.range(9..12).map(&:rank)
    assert_equal [[9, 10, 11], [50], [1, 2], []],
                 [set.range(9...12), set.range(50..99), set.range(..2), set.range(60..)].map { |rows| rows.map(&:rank) }
    assert_equal [23, 24, 25, 26, 27], set.around("m26", 2).map(&:rank)
    assert_equal %w[m50 m49 m48], set.around("m50", 2).map(&:member)
    assert_nil set.around("absent", 2)
    assert_equal [["m7", 44], nil, ["m50", 1]], set.list(%w[m7 absent m50]).map { |row| row&.to_a&.first(2) }
    assert_equal [12, 11, 10], set.by_score(10..12).map(&:score)
    assert_equal [11, 10], set.by_score(10...12).map(&:score)
    assert_equal [11], set.by_score(10..12, offset: 1, limit: 1).map(&:score)
    assert_equal [3, 41, 9, 50, 50, 0],
                 [set.count(10..12), set.count(10..), set.count(...10), set.count, set.size, set.count(12..10)]
    assert_equal ["m7", 44, 7], set["m7"].to_a
    assert_equal 50, set.each(batch: 7).to_a.uniq.size
    others = [1, 2].each
    assert_raises(StopIteration) { set.each { others.next } }
  end

  def test_decimals_are_exact
    set = set_of({ ann: "0.1", bob: 0.3, cid: BigDecimal("0.2"), dan: Rational(1, 4), eve: 7 }, decimals: 2)
    3.times { set.submit("ann", 0.1, operator: :increment) }
    assert_equal [["eve", "7.0"], ["ann", "0.4"], ["bob", "0.3"], ["dan", "0.25"], ["cid", "0.2"]],
                 set.top(5).map { |row| [row.member, row.score.to_s("F")] }
    assert_kind_of BigDecimal, set.score("ann")
    assert_equal ["ann"], set.by_score("0.31".."0.5").map(&:member)
  end

  def test_scores_of_several_components
    set = Elah::RankedSet.new(order: %i[desc asc], decimals: [0, 1])
    { "ann" => [3, 61.5], "bob" => [3, 59], "cid" => [4, 99] }.each { |member, score| set.submit(member, score) }
    assert_equal %w[cid bob ann], set.top(3).map(&:member)
    refute_predicate set.submit("ann", [2, 1]), :changed?
    assert_equal [3, BigDecimal("60.5")], set.submit("ann", [0, -1], operator: :increment).score
    assert_equal [%w[bob ann], %w[bob]],
                 [set.by_score(3..3), set.by_score([3, 59]..[3, 59])].map { |rows| rows.map(&:member) }
    assert_predicate set.score("bob"), :frozen?
  end

  def test_what_is_no_score
    set = set_of({ ann: 1 }, decimals: 2)
    { Float::NAN => /finite number, not NaN/, Float::INFINITY => /not Infinity/, -Float::INFINITY => /not -Infinity/,
      BigDecimal("NaN") => /not NaN/,
      2**63 => /9223372036854775808 is out of range: it must be -92233720368547758.08 to/,
      "1e400" => /out of range/, 1e300 => /out of range/, Rational(2**70) => /out of range/,
      Rational(1, 3) => /too many decimal digits: this set keeps 2/, 0.001 => /0.001 has too many/, nil => /not nil/,
      "" => /an empty text/, "ten" => /not ten/, "\xff" => /not UTF-8/,
      [1, 2] => /2 components was given: this set's scores have 1/,
      Complex(1, 1) => /finite number/, :a => /not :a/ }.each do |score, message|
      %i[best set increment].each do |operator|
        error = assert_raises(Elah::RankedSet::InvalidScore, score.inspect) do
          set.submit("ann", score, operator: operator)
        end
        assert_match message, error.message
      end
    end
    assert_equal [1, 1], [set.size, set.score("ann")]
  end

  def test_the_ends_of_64_bits
    set = set_of({ low: -2**63, high: 2**63 - 1 })
    assert_equal [2**63 - 1, -2**63], set.top(2).map(&:score)
    error = assert_raises(Elah::RankedSet::InvalidScore) { set.submit("low", -1, operator: :increment) }
    assert_match(/is out of range/, error.message)
    [2**63, -2**63 - 1, 9.3e18].each { |score| assert_raises(Elah::RankedSet::InvalidScore) { set.submit("x", score) } }
    assert_equal 2**53 + 1, set.submit("exact", 2**53 + 1).score
  end

  def test_names
    set = Elah::RankedSet.new
    names = ["", "x" * 10_240, "\xff", "größe", "\0", "größe".encode("ISO-8859-1")]
    names.each_with_index { |name, n| set.submit(name, n) }
    assert_equal 6, set.size
    assert_equal [Encoding::UTF_8, Encoding::BINARY], ["größe", "\xff"].map { |name| set[name].member.encoding }
    assert_equal [3, 3, 5], ["größe", "größe".b, "größe".encode("ISO-8859-1")].map { |name| set.score(name) }
    assert_equal true, set.top(9).all? { |row| row.member.frozen? }
    name = +"changed later"
    submission = set.submit(name, 9)
    name << "!"
    assert_equal ["changed later", 9], [submission.member, set.score("changed later")]
    assert_match(/10241 bytes/, assert_raises(Elah::RankedSet::InvalidMember) { set.submit("x" * 10_241, 1) }.message)
    assert_nil set.rank("x" * 100_000)
    [nil, :ann, 1].each { |member| assert_raises(TypeError) { set.submit(member, 1) } }
  end

  def test_wrong_arguments
    set = four
    error = assert_raises(ArgumentError) { set.submit("a", 1, operator: :sum) }
    assert_match(/operator: must be one of :best, :set, .* not :sum/, error.message)
    error = assert_raises(ArgumentError) { set.rank("ann", style: :olympic) }
    assert_match(/style: must be one of :ordinal, .* not :olympic/, error.message)
    error = assert_raises(ArgumentError) { Elah::RankedSet.new(ties: :latest) }
    assert_match(/ties: must be/, error.message)
    error = assert_raises(Elah::RankedSet::InvalidOrder) { Elah::RankedSet.new(order: :up) }
    assert_match(/:desc or :asc, not :up/, error.message)
    [{ order: [] }, { order: [:asc] * 9 }, { decimals: 19 }, { decimals: -1 }, { decimals: [1, 2] }].each do |settings|
      assert_raises(Elah::RankedSet::InvalidOrder, settings.inspect) { Elah::RankedSet.new(**settings) }
    end
    [-> { set.top(-1) }, -> { set.page(limit: nil) }, -> { set.trim(keep: -1) }, -> { set.score_at_percentile(101) },
     -> { set.histogram }, -> { set.histogram(buckets: 1_000_000_000) }, -> { set.each(batch: 0) },
     -> { set.page(after: "a", before: "b") }].each { |call| assert_raises(ArgumentError, &call) }
    ["", "?", "AAAA", "\xFF", set.page(limit: 1).after[0..5]].each do |cursor|
      assert_raises(Elah::RankedSet::InvalidCursor) { set.page(after: cursor) }
    end
    error = assert_raises(Elah::RankedSet::Full) { set_of({ a: 1, b: 2, c: 3, d: 4, e: 5 }, members_max: 4) }
    assert_match(/4 members already/, error.message)
    assert_raises(Elah::RankedSet::InvalidPrefix) { Elah::RankedSet.row_key("a", prefix: "p" * 223) }
  end

  # A decimal is made by a method of Ruby, during which another thread could change the set that was being read: a panic
  # ended the process.
  def test_one_thread_reads_decimals_while_another_writes
    set = Elah::RankedSet.new(decimals: 2)
    100.times { |number| set.submit("m#{number}", number) }
    reads = 0
    reader = Thread.new { reads += set.top(100).size + set.around("m50", 20).size while set.member?("m0") }
    number = 0
    until number > 20_000 && reads.positive?
      set.submit("m#{1 + ((number += 1) % 99)}", number, operator: :last)
    end
    set.delete("m0")
    reader.join
    assert_operator reads, :>, 0
  end

  def test_numbers_without_bounds_are_refused_with_theirs
    set = Elah::RankedSet.new
    set.submit("ann", 1)
    { count: -> { set.top(2**70) }, distance: -> { set.around("ann", 2**70) }, limit: -> { set.page(limit: 2**70) },
      keep: -> { set.trim(keep: 2**70) }, offset: -> { set.by_score(0.., offset: 2**70) },
      members_max: -> { Elah::RankedSet.new(members_max: 2**70) } }.each do |name, call|
      error = assert_raises(ArgumentError, name) { call.call }
      assert_equal "#{name}: must be an Integer from 0 to #{(2**63) - 1}, not #{2**70}", error.message
    end
    error = assert_raises(ArgumentError) { set.histogram(buckets: 2**70) }
    assert_equal "buckets: must be an Integer from 0 to 100000, not #{2**70}", error.message
    assert_raises(ArgumentError) { set.range(1.0..2.0) }
  end

  def test_a_range_of_ranks_may_go_beyond_the_set
    set = Elah::RankedSet.new
    set.submit_all({ "ann" => 2, "bob" => 1 })
    assert_equal %w[ann bob], set.range(1..(2**70)).map(&:member)
    assert_equal %w[bob], set.range(2..(2**70)).map(&:member)
    assert_empty set.range((2**70)..)
  end

  def test_pages_go_on_while_scores_move
    set = set_of((1..30).to_h { |n| [format("m%02d", n), n] })
    first = set.page(limit: 10)
    assert_nil first.before
    set.submit("m21", 99)
    set.delete("m20")
    second = set.page(after: first.after, limit: 10)
    assert_equal %w[m19 m18], second.rows.first(2).map(&:member)
    back = set.page(before: second.before, limit: 3)
    assert_equal %w[m24 m23 m22], back.rows.map(&:member)
    last = set.page(after: second.after, limit: 99)
    assert_equal ["m09", "m01", nil], [last.rows.first.member, last.rows.last.member, last.after]
    assert_equal [[], nil, nil], Elah::RankedSet.new.page.to_a
  end

  def test_percentiles
    assert_equal 100.0, set_of({ ann: 1 }).percentile("ann")
    set = four
    assert_equal [100.0, 75.0, 75.0, 25.0, nil], %w[ann bob cid dan eve].map { |member| set.percentile(member) }
    assert_equal [80, 80, 90, 90, 100, 100],
                 [0, 25, 25.1, 75, 75.1, 100].map { |percent| set.score_at_percentile(percent) }
    thousand = set_of((1..1000).to_h { |n| [n.to_s, n] })
    assert_equal [999, 290, 1], [99.9, 29, 0.1].map { |percent| thousand.score_at_percentile(percent) }
    assert_equal 999, thousand.score_at_percentile(BigDecimal("99.9"))
    assert_nil Elah::RankedSet.new.score_at_percentile(50)
  end

  def test_histograms
    set = four
    assert_equal [[nil, 85, 1], [85, 100, 2], [100, nil, 1]], set.histogram(bounds: [100, 85]).map(&:to_a)
    assert_equal [[80, 91, 3], [91, 102, 1]], set.histogram(buckets: 2).map(&:to_a)
    assert_equal [[nil, nil, 4]], set.histogram(bounds: []).map(&:to_a)
    assert_equal [[nil, 85, 1], [85, nil, 3]], set.histogram(bounds: 85).map(&:to_a), "no number of buckets"
    assert_empty Elah::RankedSet.new.histogram(buckets: 3)
  end

  def test_taking_back
    set = four
    before = set.top(9).map(&:to_a)
    [["bob", 1, :set], ["cid", 5, :increment], ["eve", 90, :best], ["ann", 100, :best],
     ["bob", 90, :last]].each do |member, score, operator|
      set.undo(set.submit(member, score, operator: operator))
      assert_equal before, set.top(9).map(&:to_a)
    end
  end

  def test_deciding_changes_nothing
    set = four
    decision = set.decide("dan", 90)
    assert_equal [80, ["dan", 90]], [set.score("dan"), decision.to_a.first(2)]
    assert_equal [4, true], set.apply(decision).to_a.values_at(2, 5)
    assert_nil set.decide("dan", 1)
    assert_equal decision.sequence, set.apply(decision).sequence
  end

  def test_deleting_and_trimming
    set = four
    assert_equal [90, nil, 3], [set.delete("bob"), set.delete("bob"), set.size]
    assert_equal [1, %w[ann cid]], [set.trim(keep: 2), set.top(9).map(&:member)]
    set.clear
    assert_predicate set, :empty?
  end

  def test_is_what_a_sorted_array_is
    srand(7)
    names = Array.new(60) { |n| "m#{n}" }
    set = Elah::RankedSet.new
    scores = {}
    3000.times do |step|
      name = names.sample
      if rand(5).zero?
        assert scores.delete(name)&.first == set.delete(name)
      else
        score = rand(20)
        scores[name] = [score, step] unless scores[name]&.first == score
        set.submit(name, score, operator: :set)
      end
      next unless (step % 100).zero?

      sorted = scores.sort_by { |_, (points, time)| [-points, time] }
      assert_equal sorted.map { |member, (points, _)| [member, points] }, set.each.map { |row| [row.member, row.score] }
      sorted.each_with_index { |(member, _), at| assert_equal at + 1, set.rank(member) }
    end
  end

  def test_ruby_knows_the_memory
    require "objspace"
    set = set_of((1..2000).to_h { |n| ["member #{n}", n] })
    assert_operator ObjectSpace.memsize_of(set), :>, 2000 * 30
    assert_operator set.bytes, :<, 2000 * 100
  end

  def test_survives_gc_stress
    set = set_of({ ann: "1.5", bob: 2 }, decimals: 1)
    GC.stress = true
    submission = set.submit(+"cid", 3.5)
    rows = set.top(3, style: :fractional)
    page = set.page(limit: 2)
    rest = set.page(after: page.after)
    set.histogram(buckets: 2)
    set.undo(submission)
    set.apply(set.decide("dan", Rational(1, 2)))
    assert_raises(Elah::RankedSet::InvalidScore) { set.submit("ann", Float::NAN) }
  ensure
    GC.stress = false
    assert_equal [%w[cid bob ann], ["ann"], 3], [rows.map(&:member), rest.rows.map(&:member), set.size]
  end

  def test_members_are_named_by_their_bytes
    set = Elah::RankedSet.new
    text = "𝛑 größe"
    [text, text.b, text.dup.force_encoding(Encoding::UTF_16LE)].each do |spelling|
      member = set.submit(spelling, 1).member
      assert_equal [text, Encoding::UTF_8], [member, member.encoding]
      assert_equal 1, set.rank(spelling)
    end
    ["\xFF", "\xFF".b].each do |spelling|
      member = set.submit(spelling, 1).member
      assert_equal ["\xFF".b, Encoding::BINARY], [member, member.encoding]
    end
    assert_equal 2, set.size
  end
end

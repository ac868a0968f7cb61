# frozen_string_literal: true

require_relative "../../../test/test_helper"
require "fileutils"
require "tmpdir"
require "support/servers"
require_relative "../boards/reading"
require_relative "../clock"
require_relative "../definition"
require_relative "../stores/redis"

# What a store in Redis must do, on a server or a cluster: the same as a board in memory, to the last digit.
module RedisStoreCases
  STYLES = Leaderboards::Stores::STYLES.values
  OPERATORS = Leaderboards::Definition::OPERATORS.values
  SETTINGS = [
    { order: "desc" },
    { order: "asc", decimals: 2, ties: "member" },
    { order: %w[desc asc], decimals: [0, 3], operator: "sum" }
  ].freeze
  LIMITS = [(2**63) - 1, -(2**63), 2**53, (2**53) + 1].freeze

  # A board in memory, with the reads of the app's own.
  class Model
    include Leaderboards::Boards::Reading

    # Nobody has metadata.
    module Alone
      def self.metadata(_) = nil
      def self.metadata_any? = false
    end

    attr_reader :set

    def initialize(definition)
      @set = Elah::RankedSet.new(**definition.set_settings)
      @members_max = definition.members_max
      @text = Leaderboards::Text.new(definition)
      @member_data = Alone
    end

    def submit(member, score, operator, style)
      raise Leaderboards::BoardFull if @set.size >= @members_max && !@set.member?(member)

      @text.submission(@set.submit(member, score, operator: operator, style: style))
    rescue Elah::RankedSet::InvalidScore => e
      raise Leaderboards::InvalidScore, e.message
    end

    # Without the cache of the top.
    def top(count, style) = ranks(1, count, style)

    def delete(member, _) = !@set.delete(member).nil?
    def season = 1
    def refresh = nil
    def hidden?(_) = false
  end

  # A clock that the test sets.
  Moment = Struct.new(:now)

  def setup
    @redis = open_redis
    @name = Random.urandom(8).unpack1("H*")
    @clock = Moment.new(1_700_000_000)
    @folder = Dir.mktmpdir("elah-leaderboards")
    @embedded = Elah::Store.open(@folder)
    @store = store
    @boards = 0
  end

  def teardown
    @redis.close
    @embedded.close
    FileUtils.remove_entry(@folder)
  end

  def store(redis = @redis) = Leaderboards::Stores::Redis.new(redis, @name, @embedded, clock: @clock)

  def board_of(**settings)
    fields = { name: "board", members_max: 40, **settings }.transform_keys(&:to_s)
    Leaderboards::Definition.create(fields, id: @boards += 1, game_id: 1)
  end

  SETTINGS.each_with_index do |settings, number|
    define_method("test_it_does_what_a_board_in_memory_does_#{number}") do
      random = Random.new(number)
      board = board_of(**settings)
      model = Model.new(board)
      120.times do
        submission = ["m#{random.rand(45)}", score(board, random),
                      OPERATORS.sample(random: random), STYLES.sample(random: random)]
        compare(model, board, :submit, *submission)
        compare(model, board, :delete, "m#{random.rand(45)}", false) if random.rand(8).zero?
        reads(board, random, submission.first).each { |read| compare(model, board, *read) }
      end
      assert_operator model.set.size, :>, 20
    end
  end

  def test_pages_follow_each_other_while_scores_move
    board = board_of
    20.times { |n| @store.submit(board, "m#{n}", n, nil, :ordinal) }
    first = read(@store.page(board, nil, nil, 5, :ordinal))
    assert_equal %w[m19 m18 m17 m16 m15], first["members"].map { |row| row["member"] }
    @store.submit(board, "m0", 100, nil, :ordinal)
    @store.delete(board, "m15", false)
    second = read(@store.page(board, first["after"].delete_prefix("1."), nil, 5, :ordinal, 1))
    assert_equal %w[m14 m13 m12 m11 m10], second["members"].map { |row| row["member"] }
    back = read(@store.page(board, nil, second["before"].delete_prefix("1."), 5, :ordinal, 1))
    assert_equal %w[m0 m19 m18 m17 m16], [*back["members"].map { |row| row["member"] }].first(5)
    assert_raises(Leaderboards::InvalidCursor) { @store.page(board, "AAAA", nil, 5, :ordinal) }
  end

  def test_scores_around_two_to_the_fifty_third_differ
    board = board_of(operator: "sum")
    scores = { "a" => 2**53, "b" => (2**53) + 1, "c" => (2**53) - 1 }
    ranks = scores.map { |member, score| read(@store.submit(board, member, score, nil, :ordinal))["rank"] }
    assert_equal [1, 1, 3], ranks
    assert_equal [["b", 1, (2**53) + 1], ["a", 2, 2**53], ["c", 3, (2**53) - 1]],
                 @store.rows(board, 1, 3, :ordinal).map { |row| row.to_a.first(3) }
  end

  def test_invalid_scores_are_refused
    board = board_of
    ["NaN", "Infinity", 2**63, 0.5, nil, [], {}, true, [1, 2]].each do |score|
      error = assert_raises(Leaderboards::InvalidScore, score.inspect) do
        @store.submit(board, "ann", score, nil, :ordinal)
      end
      assert_equal "invalid_score", error.code
    end
    @store.submit(board, "ann", (2**63) - 1, nil, :ordinal)
    assert_raises(Leaderboards::InvalidScore) { @store.increment(board, "ann", 1, "key", :ordinal) }
    assert_equal (2**63) - 1, @store.row(board, "ann", :ordinal).score
    assert_raises(Leaderboards::MemberNotFound) { @store.show(board, "bob", :ordinal) }
    assert_raises(Leaderboards::MemberNotFound) { @store.around(board, "bob", 3, :ordinal) }
  end

  def test_metadata_changes_without_a_score
    board = board_of
    @store.submit(board, "ann", 5, nil, :ordinal)
    @store.submit(board, "bob", 6, nil, :ordinal)
    @store.ban(board, "bob")
    %w[ann bob].each do |member|
      text = @store.put_metadata(board, member, '{"a":1}', :ordinal)
      assert_equal({ "a" => 1 }, read(text)["metadata"])
      assert_equal text, @store.show(board, member, :ordinal)
      refute_includes read(@store.put_metadata(board, member, "null", :ordinal)), "metadata"
    end
    assert_raises(Leaderboards::MemberNotFound) { @store.put_metadata(board, "cid", "{}", :ordinal) }
    assert_equal 1, @store.size(board)
  end

  def test_concurrent_increments_count_once_for_each_key
    board = board_of(operator: "sum", decimals: 2)
    threads = Array.new(4) do
      Thread.new do
        redis = open_redis
        mine = store(redis)
        # The same keys from all of them.
        Array.new(40) { |n| mine.increment(board, "m#{n % 5}", 0.01, "key-#{n}", :ordinal).last }.tap { redis.close }
      end
    end
    replays = threads.flat_map(&:value)
    assert_equal({ false => 40, true => 120 }, replays.tally)
    assert_equal ["0.08"] * 5, @store.rows(board, 1, 9, :ordinal).map { |row| row.score.to_s("F") }
    assert_raises(Leaderboards::IdempotencyMismatch) { @store.increment(board, "m1", 0.02, "key-1", :ordinal) }
  end

  # Two workers notice the end of a day: one at once, the other at its next write.
  def test_a_season_ends_in_the_middle_of_writes
    board = board_of(season: "day", seasons_kept: 2)
    other = store
    [@store, other].each_with_index { |one, n| one.submit(board, "m#{n}", n, nil, :ordinal) }
    @clock.now += 86_400
    assert_equal [2, 0], read(@store.top(board, 9, :ordinal)).values_at("season", "size")
    assert_equal 1, read(other.submit(board, "m1", 7, nil, :ordinal))["rank"]
    assert_equal [2, 1], read(@store.top(board, 9, :ordinal)).values_at("season", "size")
    assert_equal [1, 2], read(other.top(board, 9, :ordinal, 1)).values_at("season", "size")
    @clock.now -= 86_400
    assert_equal 2, read(other.top(board, 9, :ordinal))["season"], "a clock that goes back brings no season again"
    3.times { @store.begin_season(board) }
    assert_equal [5, 4, 3], @store.seasons(board, 9).map(&:number)
    assert_raises(Leaderboards::SeasonNotFound) { @store.top(board, 9, :ordinal, 1) }
    assert_empty @redis.keys("*#{@name}:#{board.key}}:1:*") unless @redis.cluster?
  end

  # It advanced once, from the season that it knew, to one that another worker had begun and that was over too.
  def test_a_worker_that_missed_a_season_writes_into_the_current_one
    board = board_of(season: "hour")
    other = store
    [@store, other].each { |one| one.submit(board, "ann", 1, nil, :ordinal) }
    @clock.now += 3600
    @store.submit(board, "bob", 2, nil, :ordinal)
    @clock.now += 2 * 3600
    other.submit(board, "late", 3, nil, :ordinal)
    assert_equal [3, 2, 1], @store.seasons(board, 9).map(&:number)
    assert_equal([%w[late], %w[bob]], [3, 2].map { |season| members(@store.top(board, 9, :ordinal, season)) })
  end

  # The first request of a board began its first season instead.
  def test_a_new_board_has_a_season_to_end
    board = board_of
    assert_equal 2, @store.begin_season(board)
    assert_equal [2, 1], @store.seasons(board, 9).map(&:number)
  end

  # The log went on, so listeners stayed with the members of the season before.
  def test_listeners_hear_of_a_new_season
    board = board_of
    @store.submit(board, "ann", 1, nil, :ordinal)
    *, log_id, number, _ = @store.changes(board, nil, 0)
    @store.submit(board, "ann", 2, nil, :ordinal)
    *, last, texts = @store.changes(board, log_id, number)
    assert_equal [number + 1, 1], [last, texts.size]
    @store.begin_season(board)
    season, size, new_log_id, _, texts = @store.changes(board, log_id, last)
    assert_equal [2, 0, nil], [season, size, texts]
    refute_equal log_id, new_log_id
  end

  def test_an_export_names_its_season
    board = board_of
    3.times { |n| @store.submit(board, "m#{n}", n, nil, :ordinal) }
    lines, after, season = @store.export(board, nil, 2)
    assert_equal [%w[m2 m1], 1], [lines.lines.map { |line| read(line)["member"] }, season]
    @store.begin_season(board)
    lines, after, season = @store.export(board, after, 2, season)
    assert_equal ["m0", nil, 1], [read(lines)["member"], after, season]
    assert_equal ["", nil, 2], @store.export(board, nil, 2)
  end

  def test_a_banned_member_cannot_notice_it
    board = board_of
    { "ann" => 5, "bob" => 7, "cid" => 6 }.each { |member, score| @store.submit(board, member, score, nil, :ordinal) }
    @store.ban(board, "bob")
    assert_equal [%w[cid ann], ["bob"]], [@store.rows(board, 1, 9, :ordinal).map(&:member), @store.banned(board)]
    assert_equal 1, read(@store.show(board, "bob", :ordinal))["rank"]
    assert_equal [1, 7], read(@store.submit(board, "bob", 9, nil, :ordinal)).values_at("rank", "previous_score")
    assert_equal %w[bob cid], read(@store.around(board, "bob", 1, :ordinal))["members"].map { |row| row["member"] }
    assert_equal 100.0, read(@store.percentile(board, "bob"))["percentile"]
    assert_equal [2, %w[cid ann]], [@store.size(board), @store.rows(board, 1, 9, :dense).map(&:member)]
    assert @store.pardon(board, "bob")
    assert_equal %w[bob cid ann], @store.rows(board, 1, 9, :ordinal).map(&:member)
    refute @store.pardon(board, "bob")
  end

  def test_a_board_in_parts_is_refused_with_a_code
    error = assert_raises(Leaderboards::NotInParts) { @store.submit(board_of(parts: 2), "ann", 1, nil, :ordinal) }
    assert_equal Leaderboards::NotInParts.code, error.code
  end

  def test_every_worker_sees_that_a_board_was_removed
    board = board_of
    other = store
    [@store, other].each { |one| one.submit(board, "ann", 1, nil, :ordinal, %({"team":"red"})) }
    @store.remove(board)
    assert_raises(Leaderboards::BoardNotFound) { other.submit(board, "ann", 1, nil, :ordinal) }
    assert_raises(Leaderboards::BoardNotFound) { store.top(board, 1, :ordinal) }
  end

  private

  def read(text) = Elah::JSON.parse(text)

  def members(list) = read(list)["members"].map { |row| row["member"] }

  def score(board, random)
    parts = board.decimals.map do |digits|
      random.rand < 0.1 ? LIMITS.sample(random: random).quo(10**digits).truncate : random.rand(-5..5)
    end
    parts.size == 1 ? parts.first : parts
  end

  def reads(board, random, member)
    number = random.rand(1..5)
    style = STYLES.sample(random: random)
    ends = Array.new(2) { random.rand < 0.2 ? nil : score(board, random) }
    range = Leaderboards::Boards::Reading::ScoreRange.new(*ends, 1, number)
    [[:show, member, style], [:top, number, style], [:around, member, number, style],
     [:ranks, number, number + 4, style], [:scores, range, style], [:list, ["nobody", member, "m1"].uniq, style],
     [:percentile, member], [:scores_at, [37, 0.5, 100]], [:histogram, [3, -2, 3], nil],
     [:histogram, nil, number], [:size]].sample(4, random: random)
  end

  def compare(model, board, name, *arguments)
    expected = outcome { model.public_send(name, *arguments) }
    assert_equal expected, outcome { @store.public_send(name, board, *arguments) }, [name, *arguments].inspect
  end

  def outcome
    yield
  rescue Leaderboards::Refused => e
    e.code
  end
end

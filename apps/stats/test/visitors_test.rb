# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../salts"
require_relative "../visitors"

class VisitorsTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
    @store = Elah::Store.open(@folder)
    @now = Time.utc(2030, 1, 1, 23, 59, 59).to_i
    @visitors = Stats::Visitors.new(Stats::Salts.new(@store, clock: -> { @now }))
  end

  def teardown
    @store.close
    FileUtils.remove_entry(@folder)
  end

  def of(address = "203.0.113.77", agent = "Mozilla/5.0 (X11)") = @visitors.of(address, agent)

  def test_an_address_loses_its_last_part
    assert_equal "203.0.113.0", of.ip
    assert_equal "2001:db8:1::", of("2001:db8:1:2:3:4:5:6").ip
    assert_equal "203.0.113.0", of("::ffff:203.0.113.77").ip
    assert_nil of("no address").ip
    full, none = %w[full none].map { |kept| Stats::Visitors.new(Stats::Salts.new(@store), addresses: kept) }
    assert_equal "203.0.113.77", full.of("203.0.113.77", nil).ip
    assert_nil none.of("203.0.113.77", nil).ip
  end

  def test_a_visitor_has_one_id_for_a_day_in_every_worker_and_another_on_the_next
    id = of.visitor
    assert_match(/\A\h{32}\z/, id)
    assert_equal id, of.visitor
    other_worker = Stats::Visitors.new(Stats::Salts.new(@store, clock: -> { @now }))
    assert_equal id, other_worker.of("203.0.113.77", "Mozilla/5.0 (X11)").visitor
    refute_equal id, of("203.0.113.78").visitor
    refute_equal id, of("203.0.113.77", "Mozilla/5.0 (Mac)").visitor
    @now += 1
    refute_equal id, of.visitor
  end

  def test_a_clock_that_jumps_back_over_midnight_uses_the_salt_of_that_day
    id = of.visitor
    @now += 1
    of
    @now -= 2
    assert_equal id, of.visitor
  end

  def test_an_id_can_be_computed_until_its_salt_is_deleted
    day = @now / 86_400
    assert_equal of.visitor, @visitors.id("203.0.113.77", "Mozilla/5.0 (X11)", day)
    assert_nil @visitors.id("203.0.113.77", "Mozilla/5.0 (X11)", day - 1)
    assert_nil @visitors.id("203.0.113.77", "Mozilla/5.0 (X11)", day + 1)
  end

  def test_salts_are_deleted_after_two_days
    clock = Elah::Store::Clock.new
    store = Elah::Store.open(Dir.mktmpdir, clock: clock)
    seconds = -> { clock.now.to_i }
    first = Stats::Salts.new(store, clock: seconds)
    day = first.day
    refute_nil first.of(day)
    clock.advance(3 * 86_400)
    assert_nil Stats::Salts.new(store, clock: seconds).of(day)
  ensure
    store.close
  end

  def test_cached_visitors_are_bounded
    (Stats::Visitors::REMEMBERED_MAX + 10).times { |n| of("203.0.113.77", "agent #{n}") }
    remembered = @visitors.instance_variable_get(:@remembered)
    assert_operator remembered.sum { |_, agents| agents.size }, :<=, Stats::Visitors::REMEMBERED_MAX
  end

  def test_bots_are_detected
    {
      "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" => "agent",
      "curl/7.88.1" => "agent", "" => "no_agent",
      "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/126.0" => "agent", nil => "no_agent", "\xFF bot" => "agent",
      "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36" => nil,
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0" => nil,
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1" => nil
    }.each do |agent, verdict|
      bot = of("203.0.113.77", agent).bot
      verdict ? assert_equal(verdict, bot, agent) : assert_nil(bot, agent)
    end
  end
end

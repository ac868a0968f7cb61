# frozen_string_literal: true

# Kills processes that lend items of a stored pool. What was confirmed is known afterwards, and no item is lent to two.
require "test_helper"
require "support/store_process"
require "fileutils"
require "tmpdir"

class LeasePoolKillTest < Minitest::Test
  ROUNDS = 10
  ITEMS = 4000
  # Lends and gives back for ever, and says of each when it was confirmed. Four threads, so that several are under way
  # at the kill.
  SCRIPT = <<~RUBY
    store = Elah::Store.open(ARGV[0])
    pool = Elah::LeasePool.open(store, "pools", 1..#{ITEMS}, hold: 86_400, name: "daily", history: 86_400)
    say "open \#{pool.leases}"
    threads = Array.new(4) do |thread|
      Thread.new do
        (1..).each do |n|
          session = "\#{ARGV[1]}-\#{thread}-\#{n}"
          lease = pool.lease(session: session, data: "of \#{session}")
          say "lent \#{lease.id} \#{session} \#{lease.begun_at}"
          next unless n % 3 == 0

          say "ending \#{lease.id}"
          pool.release(lease.id) and say "ended \#{lease.id}"
        end
      end
    end
    threads.each(&:join)
  RUBY

  def test_nothing_that_was_confirmed_is_forgotten_or_lent_twice
    dir = Dir.mktmpdir("elah-lease-pool")
    random = Random.new(rand(1 << 32))
    lines = Array.new(ROUNDS) { |round| StoreProcess.kill(SCRIPT, dir, round, after: random.rand(1..120)) }
    said = lines.flatten.map(&:split)
    store = Elah::Store.open(dir)
    pool = Elah::LeasePool.open(store, "pools", 1..ITEMS, hold: 86_400, name: "daily", history: 86_400)
    lent = said.filter_map { |what, *lease| lease if what == "lent" }
    ending, ended = %w[ending ended].map { |which| said.filter_map { |what, id| id if what == which } }
    held = lent.reject { |id, *| ending.include?(id) }
    assert_operator held.size, :>, ROUNDS
    assert_equal held.size, held.map { |id, *| id[/\A\d+/] }.uniq.size, "an item was lent to two"
    held.each { |id, session, at| check(pool, id, session, at.to_i) }
    ended.each { |id| assert_nil pool.find(id), "#{id} was given back" }
    assert_equal lent.size, lent.map(&:first).uniq.size, "an id was given to two leases"
  ensure
    store&.close
    FileUtils.remove_entry(dir)
  end

  private

  def check(pool, id, session, at)
    assert_equal session, pool.find(id)&.session, "#{id} is forgotten"
    holder = pool.holder(id.to_i, at: at)
    assert_equal [id, "of #{session}"], [holder&.id, holder&.data]
  end
end

# frozen_string_literal: true

# Kills processes that submit scores to a stored set. Every score that was answered is there, none is counted twice, and
# who was earliest still is.
require "test_helper"
require "support/store_process"
require "fileutils"
require "tmpdir"

class RankedSetKillTest < Minitest::Test
  ROUNDS = 12
  MEMBERS = 5
  # Submits for ever, and says of each when it was answered. Four threads, so that several are under way at the kill.
  SCRIPT = <<~RUBY
    set = Elah::RankedSet.open(Elah::Store.open(ARGV[0]), "boards", prefix: "daily")
    say "open \#{set.size}"
    threads = Array.new(4) do |thread|
      Thread.new do
        (1..).each do |n|
          member = "m\#{n % #{MEMBERS}}"
          set.submit(member, 1, operator: :increment)
          say "added \#{member}"
          set.submit("\#{thread}-\#{ARGV[1]}-\#{n}", 7)
          say "first \#{thread}-\#{ARGV[1]}-\#{n}" if n == 1
        end
      end
    end
    threads.each(&:join)
  RUBY

  def test_no_answered_score_is_lost_and_none_counts_twice
    dir = Dir.mktmpdir("elah-ranked-set")
    random = Random.new(rand(1 << 32))
    lines = Array.new(ROUNDS) { |round| StoreProcess.kill(SCRIPT, dir, round, after: random.rand(1..80)) }
    said = lines.flatten.map(&:split)
    store = Elah::Store.open(dir)
    set = Elah::RankedSet.open(store, "boards", prefix: "daily")
    MEMBERS.times do |number|
      answered = said.count(["added", "m#{number}"])
      # Each of the threads may have stored one more and not said so.
      assert_includes answered..(answered + (ROUNDS * 4)), set.score("m#{number}")
    end
    total = said.count { |what, _| what == "added" }
    assert_includes total..(total + (ROUNDS * 4)), MEMBERS.times.sum { |number| set.score("m#{number}") }
    firsts = said.filter_map { |what, member| member if what == "first" }
    assert_equal firsts.group_by { |member| member[/-(\d+)-/, 1].to_i }.keys,
                 firsts.sort_by { |member| set.rank(member) }.map { |member| member[/-(\d+)-/, 1].to_i }.uniq
  ensure
    store&.close
    FileUtils.remove_entry(dir)
  end
end

# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/leaderboards_server"
require_relative "../support/patience"

# Leaderboards with two workers: any takes any request, and what was answered is there whoever is killed or paused.
class LeaderboardsWorkersTest < Minitest::Test
  include Patience

  WRITERS = 4

  def test_no_score_is_lost_and_no_increment_counted_twice_when_workers_are_killed_under_load
    LeaderboardsServer.start(workers: 2) do |server|
      boards = Array.new(2) { server.create }
      acknowledged = Array.new(WRITERS) { Hash.new(0) }
      threads = Array.new(WRITERS) { |writer| Thread.new { write(server, boards, writer, acknowledged[writer]) } }
      3.times { |kill| kill_one(server, acknowledged, (kill + 1) * 30) }
      threads.each(&:join)
      boards.each do |board|
        WRITERS.times do |writer|
          answer = again { server.get("#{board}/members/w#{writer}") }.json
          assert_equal acknowledged[writer][board], answer["score"], "#{board} w#{writer}"
        end
      end
    end
  end

  %w[disk memory].each do |durability|
    define_method("test_writes_to_several_boards_are_whole_when_everything_is_killed_under_load_#{durability}") do
      LeaderboardsServer.start(settings: { leaderboards_durability: durability }, workers: 2) do |server|
        boards = Array.new(4) { server.create(operator: "sum") }
        acknowledged = Queue.new
        writers = Array.new(WRITERS) { |writer| Thread.new { write_together(server, boards, writer, acknowledged) } }
        wait_until("some are written") { acknowledged.size >= 40 }
        server.kill_and_restart
        writers.each(&:join)
        answered = Array.new(acknowledged.size) { acknowledged.pop }.tally
        scores = nil
        wait_until("what was left behind is done") do
          scores = scores_of(server, boards)
          scores.uniq.size == 1 && answered.all? { |writer, count| scores.first.fetch("w#{writer}", 0) >= count }
        end
        answered.each do |writer, count|
          assert_includes count..(count + 1), scores.first["w#{writer}"],
                          "w#{writer}: and one that may not have been answered"
        end
      end
    end
  end

  def test_a_paused_worker_loses_nothing
    LeaderboardsServer.start(workers: 2, hang_seconds: 2) do |server|
      board = server.create
      again { server.submit(board, "ann", 1) }
      paused = workers(server).first
      Process.kill(:STOP, paused)
      assert_equal 200, again { server.submit(board, "ann", 2) }.status
      assert_equal 200, again { server.submit(board, "bob", 3) }.status
      begin
        Process.kill(:CONT, paused)
      rescue Errno::ESRCH
        nil # the supervisor has replaced it
      end
      assert_equal [["bob", 3], ["ann", 2]],
                   again { server.get("#{board}/top") }.json["members"].map { |row| row.values_at("member", "score") }
    end
  end

  def test_a_rank_over_parts_is_estimated_while_a_worker_does_not_answer
    LeaderboardsServer.start(settings: { leaderboards_deadline_ms: 500 }, workers: 2) do |server|
      board = server.create(parts: 8)
      40.times { |n| again { server.submit(board, "m#{n}", n) } }
      paused = workers(server).first
      written_at = Time.now.to_i
      wait_until("what is known of parts is asked for anew") do
        again { server.get("#{board}/members/m0") } && Time.now.to_i > written_at + 1
      end
      # Of many clients at once each worker has some.
      Array.new(8) { Thread.new { 20.times { |n| again { server.get("#{board}/members/m#{n}") } } } }.each(&:join)
      begin
        Process.kill(:STOP, paused)
        answers = Array.new(40) { |n| [n, server.get("#{board}/members/m#{n}")] }
      ensure
        Process.kill(:CONT, paused)
      end
      estimates = answers.filter_map do |n, answer|
        [n, answer.json] if answer.status == 200 && answer.json["rank_error"]
      end
      refute_empty estimates
      estimates.each { |n, row| assert_in_delta 40 - n, row["rank"], row["rank_error"], "m#{n}: #{row}" }
      assert_equal ["part_unavailable"],
                   answers.reject { |_, answer| answer.status == 200 }.map { |_, answer| answer.json["code"] }.uniq
      wait_until("ranks are exact again") do
        40.times.all? do |n|
          answer = server.get("#{board}/members/m#{n}")
          answer.status == 200 && answer.json.values_at("rank", "rank_error") == [40 - n, nil]
        end
      end
    end
  end

  private

  def workers(server)
    pid = server.process.pid
    File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)
  end

  def kill_one(server, acknowledged, count)
    wait_until("the writers have gone on") { acknowledged.all? { |sums| sums.values.sum >= count } }
    Process.kill(:KILL, workers(server).sample)
  rescue Errno::ESRCH
    retry
  end

  # Adds one to both boards again and again, under a key for each, until each is answered.
  def write(server, boards, writer, sums)
    80.times do |n|
      boards.each do |board|
        answer = again do
          server.post("#{board}/members/w#{writer}/increments", { by: 1 },
                      headers: { "Idempotency-Key" => "#{writer}-#{n}" })
        end
        raise "#{answer.status} #{answer.body}" unless answer.json["score"] == n + 1

        sums[board] += 1
      end
    end
  end

  # Adds one on all boards again and again, until the server is gone.
  def write_together(server, boards, writer, acknowledged)
    n = 0
    status = 200
    while status == 200
      parts = boards.map { |board| { leaderboard: board[/\d+/], member: "w#{writer}", score: 1 } }
      answer = server.post("/submissions", { submissions: parts },
                           headers: { "Idempotency-Key" => "#{writer}-#{n += 1}" })
      status = answer.status
      acknowledged << writer if status == 200
    end
  rescue SystemCallError, HttpClient::Closed, HttpClient::Silence
    nil
  end

  # @return [Array<Hash{String=>Integer}>] scores by member, of each board
  def scores_of(server, boards)
    boards.map do |board|
      again { server.get("#{board}/top") }.json["members"].to_h { |row| row.values_at("member", "score") }
    end
  end

  # Sends a request until it is answered.
  def again
    give_up_at = monotonic + patience_seconds
    begin
      answer = yield
      raise IOError, "#{answer.status} #{answer.body}" if answer.status >= 500

      answer
    rescue IOError, SystemCallError, HttpClient::Closed, HttpClient::Silence
      raise if monotonic > give_up_at

      Thread.pass
      retry
    end
  end
end

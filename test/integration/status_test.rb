# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "support/supervised_case"

# `elah status` and the metrics: what a server does, also when parts of it do nothing any more.
class StatusTest < Minitest::Test
  include SupervisedCase

  def elah_status(server, *arguments)
    Open3.capture2e(ElahServer::EXECUTABLE, "status", "--run-dir", File.join(server.folder, "run"), *arguments)
  end

  def test_it_shows_the_workers_and_what_they_do
    supervised do |server|
      clients = Array.new(4) { server.connect.write("GET /sleep/60000 HTTP/1.1\r\nHost: a\r\n\r\n") }
      wait_until("all run") { workers(server).sum { |worker| worker[:fibers] } == 4 }
      text, ended = elah_status(server)
      assert_predicate ended, :success?
      address = /tcp:\/\/127\.0\.0\.1:#{server.port}/
      assert_match(/^Process #{server.pid} on #{address}, up \d+ s, 2 workers wanted, 256 shards$/, text)
      worker_pids(server).each_with_index do |pid, slot|
        assert_match(/^#{slot} +#{pid} +ready +\d+ s +[0-4] .* MB +128 +0$/, text)
      end
      values = JSON.parse(elah_status(server, "--json").first).first
      assert_equal "tcp://127.0.0.1:#{server.port}", values["addresses"]
      sums = %w[open_requests connections].map { |cell| values["workers"].sum { |worker| worker[cell] } }
      assert_equal [server.pid, 4, 4], [values["pid"], *sums]
      worker_pids(server).each { |pid| Process.kill(:KILL, pid) }
    ensure
      clients&.each(&:close)
    end
  end

  # One that it could not read hid all others.
  def test_it_shows_the_servers_that_it_can_read
    ElahServer.start(APP) do |server|
      FileUtils.mkdir(other = File.join(server.folder, "run/1"), mode: 0o700)
      File.open(File.join(other, "scoreboard"), "w") do |board|
        board.flock(File::LOCK_EX)
        text, ended = elah_status(server)
        assert_predicate ended, :success?
        assert_match(%r{^elah: .*run/1}, text)
        assert_match(/^Process #{server.pid} on /, text)
      end
    ensure
      FileUtils.rm_r(other)
    end
  end

  def test_it_answers_while_worker_and_supervisor_are_stopped
    supervised do |server|
      stopped = worker_pids(server).first
      [stopped, server.pid].each { |pid| Process.kill(:STOP, pid) }
      wait_until("it shows") do
        elah_status(server).first.match?(/its supervisor has been silent for.*^0 +#{stopped} +silent \d/m)
      end
    ensure
      [server.pid, stopped].each { |pid| Process.kill(:CONT, pid) }
    end
  end

  def test_it_finds_a_server_by_its_pid_file
    ElahServer.start(APP, pidfile: "elah.pid") do |server|
      pidfile = File.join(server.folder, "elah.pid")
      text, = elah_status(server, "--pidfile", pidfile)
      assert_match(/^Process #{server.pid} on \S+, up \d+ s, one process, 256 shards$/, text)
      File.write(pidfile, "1")
      text, ended = elah_status(server, "--pidfile", pidfile)
      assert_equal [1, true],
                   [ended.exitstatus, text.match?(/\Aelah: No server of this user runs below .* as process 1 of /)]
      File.write(pidfile, server.pid.to_s)
    end
  end

  def test_one_scrape_sums_all_workers
    supervised do |server|
      clients = Array.new(8) { server.connect }
      clients.each { |client| 5.times { client.get("/") } }
      clients.first.get("/publish/entities/7")
      text = nil
      wait_until("40 requests are counted:\n#{text}") do
        text = server.get("/metrics").body
        text[/^elah_requests_total (\d+)$/, 1].to_i > 40
      end
      assert_equal 2, text.scan(/^elah_connections\{worker="[01]",pid="\d+"\} \d+$/).size
      assert_match(/^elah_app_entities\{worker="[01]",pid="\d+"\} 7$/, text)
      assert_match(/^# TYPE elah_requests_total counter$/, text)
      assert_empty text.lines.grep_v(/\A(# (HELP|TYPE) elah_\w+ .+|elah_\w+(\{\w+="\w+"(,\w+="\w+")*\})? [\d.]+)\n\z/)
    ensure
      clients&.each(&:close)
    end
  end

  # With one worker nothing appeared. `a.b` and `a_b` became two metrics of one name, which no scrape may have.
  def test_numbers_of_the_app_appear_under_their_names
    [1, 2].each do |count|
      ElahServer.start(APP, workers: count) do |server|
        assert_equal 200, server.get("/publish/queue_length/3").status
        assert_match(/^elah_app_queue_length\{worker="\d",pid="\d+"\} 3$/, server.get("/metrics").body)
        assert_match(/queue_length/, elah_status(server).first)
        assert_equal 500, server.get("/publish/queue-length/3").status
        server.wait_for(/ArgumentError: "queue-length" cannot be published: a name has 1 to 23 letters/)
      end
    end
  end

  def test_what_a_worker_counted_stays_counted_when_it_ends
    supervised do |server|
      pids = worker_pids(server)
      server.connect { |client| 50.times { client.get("/") } }
      server.signal(:HUP)
      wait_for_workers(server, 2, besides: pids)
      assert_equal 50, status(server).totals[:requests]
    end
  end
end

# frozen_string_literal: true

# Shows with strace that a collector answers `durability=disk` only after a completed sync, that requests share syncs,
# and that a disk that fails is said.
require "test_helper"
require "support/patience"
require "support/stats_server"

class StatsDiskTest < Minitest::Test
  include Patience

  DISK = { "Prefer" => "durability=disk" }.freeze
  SYNCED = /fdatasync.*= 0( \(DELAYED\))?$/.freeze
  ATTACHED = /Process \d+ attached/.freeze

  def setup
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    @trace = File.join(Dir.mktmpdir("elah-trace"), "calls")
  end

  def teardown = FileUtils.rm_rf(File.dirname(@trace)) if @trace

  # Runs the block while a collector, whose sender is known and whose journal is open, is traced.
  #
  # @return [Array<String>] its calls
  def traced(*options)
    StatsServer.start do |server|
      2.times { assert_equal 200, server.get("/stats", headers: DISK).status }
      output, input = IO.pipe
      strace = spawn("strace", "-f", "-s", "300", *options, "-o", @trace, "-p", server.process.pid.to_s, err: input,
                                                                                                         out: input)
      input.close
      log = +""
      reader = Thread.new { output.each_line { |line| log << line } }
      wait_until("strace is attached") { log.match?(ATTACHED) || !reader.alive? }
      skip "this user may not trace: #{log}" unless log.match?(ATTACHED)
      yield server
    ensure
      Process.kill(:INT, strace) && Process.wait(strace) if strace
      reader&.join
    end
    File.readlines(@trace)
  end

  def test_every_answer_of_the_disk_follows_a_completed_sync
    calls = traced("-e", "trace=fdatasync,write,writev,sendto,sendmsg") do |server|
      server.process.connect do |client|
        3.times { assert_equal "disk", client.request("GET", "/stats?path=/a", headers: DISK).json["durability"] }
        3.times do
          answer = client.request("POST", "/stats", headers: { "Content-Type" => "application/json", **DISK },
                                                    body: '{"path":"/b"}')
          assert_equal "disk", answer.json["durability"]
        end
        assert_equal "disk", client.request("GET", "/stats?n[]=1", headers: DISK).json["durability"],
                     "of the ordinary way too"
      end
    end
    steps = calls.slice_after(/HTTP\/1\.1 200/).select { |step| step.last.match?(/HTTP\/1\.1 200/) }
    assert_equal 7, steps.size
    steps.each { |step| assert step.any? { |call| SYNCED.match?(call) }, "no sync before an answer:\n#{step.join}" }
  end

  def test_requests_share_syncs
    calls = traced("-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_exit=10000") do |server|
      clients = Array.new(16) do
        Thread.new do
          server.process.connect do |client|
            20.times { assert_equal "disk", client.request("GET", "/stats", headers: DISK).json["durability"] }
          end
        end
      end
      clients.each(&:join)
    end
    assert_operator calls.grep(SYNCED).size, :<, 160
  end

  def test_a_drain_waits_for_answers_that_wait_for_the_disk
    traced("-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_exit=300000") do |server|
      client = Thread.new { server.get("/stats", headers: DISK) }
      wait_until("the sync has begun") { File.exist?(@trace) && File.read(@trace).include?("fdatasync") }
      server.process.signal(:TERM)
      assert_equal [200, "disk"], client.value.then { |answer| [answer.status, answer.json["durability"]] }
      assert_predicate server.process.wait_until_ended, :success?
    end
  end

  def test_a_disk_that_fails_is_said_and_ends_the_journal
    traced("-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO") do |server|
      answers = Array.new(2) { server.get("/stats", headers: DISK) } + [server.get("/stats")]
      answers << server.get("/readyz")
      assert_equal [[503, "store_unavailable", "1"]] * 4,
                   answers.map { |answer| [answer.status, answer.json["code"], answer["Retry-After"]] }
      assert_match(/The disk failed: a sync failed: Input\/output error/, answers.last.json["detail"])
    end
  end
end

# frozen_string_literal: true

require "test_helper"
require "support/bank_cluster"
require "elah/cli"

# A recurring job of two servers on one database: one worker of the whole cluster runs it, unless it is told to use
# another store.
class JobClusterTest < Minitest::Test
  include Patience

  # The servers have data folders of their own. The lock ends with the process, so it tells of two runs at a time.
  JOB = <<~RUBY
    def note(text) = File.write(File.join(ENV["SHARED"], "runs"), "\#{text} \#{Process.pid}\\n", mode: "a")

    Elah::Config.at(:before_worker_boot) do
      Elah.every(0.05, once: "job") do
        File.open(File.join(ENV["SHARED"], "lock"), "w") do |lock|
          next note("overlap") unless lock.flock(File::LOCK_EX | File::LOCK_NB)

          note("begin")
          sleep 0.01 while File.exist?(File.join(ENV["SHARED"], "gate"))
          note("end")
        rescue Elah::Cancelled
          note("cancelled")
          raise
        end
      end
    end
  RUBY
  APP = BankCluster::APP.sub(/^run Bank/) { "#{JOB}run Bank" }

  def setup
    @folder = Dir.mktmpdir("elah-job")
    @gate = File.join(@folder, "gate")
    FileUtils.touch(@gate)
  end

  def teardown = FileUtils.remove_entry(@folder)

  def with_two
    AppCluster.start(app: APP, servers: 0) do |cluster|
      servers = %w[one two].to_h do |node|
        options = { cluster_node: node, cluster_listen: "127.0.0.1:23000-23999", env: { "SHARED" => @folder } }
        server = cluster.add(**options)
        [server.pid, [node, server]]
      end
      cluster.wait_until_spread(2)
      yield cluster, servers
    end
  end

  # What the runs have noted, each as a word and the server that ran it.
  def runs
    File.readlines(File.join(@folder, "runs")).map(&:split).map { |word, pid| [word, pid.to_i] }
  rescue Errno::ENOENT
    []
  end

  # The server of the last run, which has begun and waits.
  def wait_for_run(servers, besides: nil)
    wait_until("a run has begun:\n#{servers.values.map { |_, server| server.log }.join("\n")}") do
      word, pid = runs.last
      return pid if word == "begin" && pid != besides
    end
  end

  def open_gate
    FileUtils.rm_f(@gate)
    ended = runs.size
    wait_until("more runs have ended") { runs.size > ended + 6 }
    refute_includes runs.map(&:first), "overlap"
  end

  def test_another_machine_runs_it_when_its_server_is_killed
    with_two do |_, servers|
      killed = wait_for_run(servers)
      servers[killed].last.signal(:KILL)
      wait_for_run(servers, besides: killed)
      open_gate
      refute_includes runs, ["end", killed]
    end
  end

  # It ran on beside that of the new owner, for as long as it liked.
  def test_a_run_is_cancelled_in_a_server_that_stood_still_for_too_long
    with_two do |_, servers|
      stopped = wait_for_run(servers)
      servers[stopped].last.signal(:STOP)
      FileUtils.rm_f(File.join(@folder, "lock")) # which the stopped one holds
      wait_for_run(servers, besides: stopped)
      servers[stopped].last.signal(:CONT)
      servers[stopped].last.wait_for(/goes on as another one/)
      wait_until("the first run has ended") { runs.include?(["cancelled", stopped]) }
      open_gate
      refute_includes runs, ["end", stopped]
    end
  end

  def test_a_run_is_cancelled_when_its_machine_hands_over
    with_two do |cluster, servers|
      first = wait_for_run(servers)
      output = StringIO.new
      arguments = ["cluster", "drain", servers[first].first, "--cluster", cluster.url]
      assert_equal 0, Elah::CLI.start(arguments, out: output, err: output), output.string
      wait_for_run(servers, besides: first)
      open_gate
      refute_includes runs, ["end", first]
    end
  end
end

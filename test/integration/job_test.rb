# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# A recurring job of a server with two workers: one of them runs it, another one when that is killed or hands it over,
# and never two at a time.
class JobServerTest < Minitest::Test
  include SupervisedCase

  APP = <<~RUBY
    RUNS = File.join(Elah.config.data, "runs")
    GATE = File.join(Elah.config.data, "gate")

    def note(text) = File.write(RUNS, "\#{text} \#{Process.pid}\\n", mode: "a")

    # The lock ends with the process, so it tells of two runs at a time.
    def run_job
      File.open(File.join(Elah.config.data, "lock"), "w") do |lock|
        return note("overlap") unless lock.flock(File::LOCK_EX | File::LOCK_NB)

        note("begin")
        sleep 0.01 while File.exist?(GATE)
        note("end")
      end
    end

    Elah::Config.at(:before_worker_boot) { Elah.every(0.05, once: "job") { run_job } }
    run(Class.new(Elah::API) { get("/") { "ok" } })
  RUBY

  def setup
    @data = Dir.mktmpdir("elah-job")
    @gate = File.join(@data, "gate")
  end

  def teardown = FileUtils.remove_entry(@data)

  def serve(&block) = supervised(APP, data: @data, &block)

  # What the runs have noted, each as a word and the worker that ran it.
  def runs
    File.readlines(File.join(@data, "runs")).map(&:split).map { |word, pid| [word, pid.to_i] }
  rescue Errno::ENOENT
    []
  end

  # The worker of the last run, which has begun and waits.
  def wait_for_run(server, besides: nil)
    word = pid = nil
    wait_until("a run has begun:\n#{server.log}") do
      word, pid = runs.last
      word == "begin" && pid != besides
    end
    pid
  end

  def open_gate(server)
    FileUtils.rm_f(@gate)
    ended = runs.size
    wait_until("more runs have ended:\n#{server.log}") { runs.size > ended + 5 }
    refute_includes runs.map(&:first), "overlap"
  end

  def test_one_worker_runs_a_job
    serve do |server|
      wait_until("it has run:\n#{server.log}") { runs.size > 20 }
      assert_equal 1, runs.map(&:last).uniq.size
      assert_includes worker_pids(server), runs.last.last
    end
  end

  def test_another_worker_runs_it_again_when_its_worker_is_killed
    FileUtils.touch(@gate)
    serve do |server|
      killed = wait_for_run(server)
      Process.kill(:KILL, killed)
      seconds = measure { wait_for_run(server, besides: killed) }
      assert_operator seconds, :<, 10
      refute_includes runs, ["end", killed]
      open_gate(server)
    end
  end

  def test_a_run_is_cancelled_when_the_job_is_handed_over
    FileUtils.touch(@gate)
    serve do |server|
      first = wait_for_run(server)
      server.signal(:USR1)
      wait_for_run(server, besides: first)
      refute_includes runs, ["end", first]
      open_gate(server)
      refute_includes server.log, "did not hand over"
    end
  end

  def test_a_paused_worker_runs_nothing_at_the_same_time
    FileUtils.touch(@gate)
    supervised(APP, data: @data, hang_seconds: 1) do |server|
      paused = wait_for_run(server)
      Process.kill(:STOP, paused)
      wait_for_run(server, besides: paused)
      open_gate(server)
    end
  end

  # What no rescue of a StandardError sees ends neither a job nor a timer.
  RAISING = <<~RUBY
    RAISES = [-> { raise NotImplementedError }, -> { exit }, -> { raise Elah::Cancelled, "another fiber's" }].freeze

    class Alarm < Elah::Entity
      def restore = @attempts = []
      def set = wake_at(Time.now)

      private

      def woken
        File.write(File.join(Elah.config.data, "alarm"), "\#{key}\n", mode: "a")
        RAISES.fetch(Integer(key)).call
      end
    end

    ALARMS = Alarm.in(Elah::Store.open(Elah.config.data))
    Elah::Config.at(:before_worker_boot) do
      RAISES.each_with_index do |raises, number|
        Elah.every(0.05, once: number.to_s) do
          File.write(File.join(Elah.config.data, "job"), "\#{number}\n", mode: "a")
          raises.call
        end
      end
    end
    run(Class.new(Elah::API) { get("/") { RAISES.each_index { |number| ALARMS[number.to_s].set }.size.to_s } })
  RUBY

  def noted(name)
    File.readlines(File.join(@data, name), chomp: true).tally
  rescue Errno::ENOENT
    {}
  end

  def test_a_job_and_a_timer_go_on_whatever_they_raise
    supervised(RAISING, data: @data) do |server|
      server.get("/")
      %w[job alarm].each do |name|
        wait_until("each #{name} was called again:\n#{server.log}") do
          %w[0 1 2].all? { |key| noted(name)[key].to_i > 1 }
        end
      end
    end
  end

  # As while a deployment starts the new server before it stops the old one.
  def test_of_two_servers_on_one_folder_the_first_runs_a_job
    FileUtils.touch(@gate)
    serve do |server|
      first = wait_for_run(server)
      serve do |second|
        open_gate(second)
        assert_equal [first], runs.map(&:last).uniq
        server.signal(:TERM)
        wait_until("the other one runs it:\n#{second.log}") { worker_pids(second).include?(runs.last.last) }
        open_gate(second)
      end
    end
  end
end

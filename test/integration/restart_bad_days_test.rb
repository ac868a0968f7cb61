# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Restarts that requests, trial runs or the new configuration stand in the way of.
class RestartBadDaysTest < Minitest::Test
  include SupervisedCase

  SLOW = <<~RUBY
    class Api < Elah::API
      get("/") { "served" }
      get("/long") { sleep }
      get("/computing") do
        sleep 0.01 until File.exist?("drains")
        loop { 1 }
      end
    end
    run Api
  RUBY

  # Begins an app with a fault: not in the trial run, but in the image that follows it.
  WHEN_GONE = "if File.exist?('gone') && Elah::Restart.current.state.key?('supervisor')\n#{SLOW}".freeze

  ROOT = File.expand_path("../..", __dir__)

  FAILING = <<~RUBY
    class Api < Elah::API
      get("/fails") { raise "on purpose" }
      get("/parallel") { Elah.gather { |calls| calls.call(:a) { "both" } }.to_h[:a] }
    end
    run Api
  RUBY

  # As for a later version of Elah, with another layout: the next image raised, and the server ended.
  def test_a_scoreboard_that_the_new_code_cannot_read_is_not_restarted_to
    supervised do |server|
      pids = worker_pids(server)
      path = run_dir(server).scoreboard_path
      mark = File.binread(path, 8)
      File.binwrite(path, "ELAHBRD?", 0)
      server.signal(:HUP)
      server.wait_for(/it is no scoreboard of this version of Elah.*The trial process failed/m)
      File.binwrite(path, mark, 0)
      assert_equal [pids, "hello"], [worker_pids(server), server.get("/").body]
    end
  end

  # The server exited with status 75, so that one client could make an outage of each restart.
  def test_one_process_restarts_although_a_request_waits_longer_than_its_drain
    with_request_during_restart("/long", drain_seconds: 0.5) do |server, client|
      answer = client.read_answer
      assert_equal [503, "server_stopped"], [answer.status, answer.json["code"]]
      assert_restarted(server)
    end
  end

  def test_one_process_restarts_although_a_request_computes_longer_than_its_drain
    with_request_during_restart("/computing", drain_seconds: 1) do |server, _client|
      wait_until("it drains") { status(server).workers.first[:state] == :draining }
      File.write(File.join(server.folder, "drains"), "")
      assert_restarted(server)
    end
  end

  # The trial run did not look at the pid file, and the next image ended with a backtrace.
  [1, 2].each do |workers|
    define_method(:"test_a_pid_file_that_cannot_be_written_is_not_restarted_to_by_#{workers}") do
      config = "pidfile File.join(__dir__, File.exist?(BROKEN) ? 'absent/pid' : 'pid')"
      supervised_with_config(config, workers: workers) do |server, broken|
        pidfile = File.join(File.dirname(broken), "pid")
        File.write(broken, "")
        server.signal(:HUP)
        server.wait_for(/The pid file \S+absent\S+ cannot be written.*The trial process failed/m)
        assert_equal [200, server.pid.to_s], [server.get("/").status, File.read(pidfile).chomp]
      end
    end
  end

  # As of a deployment script: `flock server.pid sh -c 'kill -HUP ...; wait until it is healthy'`. The next image waited
  # for the lock, and ended.
  [1, 2].each do |workers|
    define_method(:"test_a_pid_file_that_another_process_locks_hinders_no_restart_of_#{workers}") do
      supervised(workers: workers, pidfile: "server.pid") do |server|
        File.open(File.join(server.folder, "server.pid")) do |file|
          file.flock(File::LOCK_EX)
          server.signal(:HUP)
          server.wait_for(/(listening on.*){2}/m)
          assert_equal [200, "#{server.pid}\n"], [server.get("/").status, File.read(file.path)]
        end
      end
    end
  end

  # Its path is part of what the next image gets, in JSON, which failed for the bytes: the server ended.
  [1, 2].each do |workers|
    define_method(:"test_a_pid_file_whose_path_is_no_utf8_hinders_no_restart_of_#{workers}") do
      config = <<~'RUBY'
        folder = File.join(__dir__.b, "m\xFC".b)
        Dir.exist?(folder) || Dir.mkdir(folder)
        Dir.chdir(folder)
        pidfile "server.pid"
      RUBY
      supervised_with_config(config, workers: workers) do |server, broken|
        server.signal(:HUP)
        server.wait_for(/(listening on.*){2}/m)
        path = File.join(File.dirname(broken).b, "m\xFC/server.pid".b)
        assert_equal [200, "#{server.pid}\n"], [server.get("/").status, File.read(path)]
      end
    end
  end

  # It was compiled in the first request: a restart replaced all workers, and then each request was a 500.
  def test_a_wrong_definition_behind_middleware_is_not_restarted_to
    supervised("use Rack::Head\n#{SLOW}", extension: ".ru") do |server|
      File.write(File.join(server.folder, "app.ru"), <<~'RUBY')
        use Rack::Head
        run(Class.new(Elah::API) { get("x/:id", requirements: { id: /\X/ }) { 1 } })
      RUBY
      server.signal(:HUP)
      server.wait_for(/requirement of "id".*The trial process failed/m)
      assert_equal "served", server.get("/").body
    end
  end

  # One process does without it, and the trial run did not look: the next image ended, and the server with it.
  def test_workers_that_cannot_have_a_run_folder_are_not_restarted_to
    Dir.mktmpdir do |folder|
      config = File.join(folder, "config.rb")
      File.write(config, "workers File.exist?(File.join(__dir__, 'more')) ? 2 : 1")
      ElahServer.start(SLOW, config: config, run_dir: File.join(folder, "r" * 80)) do |server|
        File.write(File.join(folder, "more"), "")
        server.signal(:HUP)
        server.wait_for(/The path of the run folder \S+ exceeds.*The trial process failed/m)
        assert_equal "served", server.get("/").body
      end
    end
  end

  # Cleaners of /tmp do that: the next image could not open the scoreboard, and the server ended.
  def test_a_server_whose_run_folder_was_removed_serves_on
    supervised do |server|
      pids = worker_pids(server)
      FileUtils.rm_r(run_dir(server).path)
      server.signal(:HUP)
      server.wait_for(/The run folder \S+ was removed: the workers continue with the old code\. Stop the server/)
      assert_equal 200, server.get("/").status
      pids.each { |pid| assert Process.kill(0, pid) }
    end
  end

  # A link that points to itself has no times to set, as nothing has on a file system that became read-only. The
  # exception ended the supervisor, which killed its workers.
  def test_a_run_folder_whose_times_cannot_be_set_stops_no_server
    config = <<~RUBY
      before_fork do
        link = "run/\#{Process.pid}/itself"
        File.symlink("itself", link) unless File.symlink?(link)
      end
    RUBY
    supervised_with_config(config) do |server|
      server.wait_for(%r{The times of files in the run folder \S+ cannot be set: .*itself\. A cleaner may remove them})
      pids = worker_pids(server)
      server.signal(:HUP)
      wait_for_workers(server, 2, besides: pids)
      assert_equal 200, server.get("/").status
    end
  end

  # Its status 0 counted as success. Then the next image ended the same way, and the server with it.
  [1, 2].each do |workers|
    define_method(:"test_code_that_exits_while_it_loads_is_not_restarted_to_by_#{workers}") do
      supervised("exit if File.exist?('exits')\n#{SLOW}", workers: workers) do |server|
        File.write(File.join(server.folder, "exits"), "")
        server.signal(:HUP)
        server.wait_for(/The trial process failed/)
        assert_equal "served", server.get("/").body
      end
    end
  end

  # The trial run opened them too, and they were its own from then on: the server that goes on could not write them.
  def test_a_trial_run_takes_no_lease_pool_and_no_ranked_set
    app = <<~RUBY
      STORE = Elah::Store.open(Elah.config.state("own"))
      POOL = Elah::LeasePool.open(STORE, "pools", 1..9, hold: 600)
      BOARD = Elah::RankedSet.open(STORE, "boards")
      class Api < Elah::API
        get("/lease") { POOL.lease.item.to_s }
        get("/submit") { BOARD.submit("ann", 1, operator: :increment).score.to_s }
      end
      run Api
    RUBY
    supervised(app, workers: 1) do |server|
      written = -> { %w[/lease /submit].map { |path| server.get(path).body } }
      assert_equal %w[1 1], written.call
      file = File.join(server.folder, "app.rb")
      File.write(file, "#{app}\nraise 'broken'")
      server.signal(:HUP)
      server.wait_for(/The trial process failed/)
      assert_equal %w[2 2], written.call
      File.write(file, app)
      server.signal(:HUP)
      server.wait_for(/Drained; the worker exits/)
      assert_equal %w[3 3], written.call
    end
  end

  # The trial run had loaded it a moment before. The supervisor ended, and its workers with it.
  { "raise 'no database'" => "RuntimeError: no database", "abort" => "SystemExit: exit" }.each do |fault, message|
    define_method(:"test_workers_stay_when_the_code_loads_in_the_trial_run_only_and_calls_#{fault[/\w+/]}") do
      supervised("#{fault} #{WHEN_GONE}") do |server|
        assert_workers_stay(server, File.join(server.folder, "gone"), message)
      end
    end
  end

  # It waited for what was away, and the workers had no supervisor: dead ones were not replaced, and TERM had no effect.
  def test_workers_stay_when_the_code_does_not_end_loading
    supervised("begin; sleep; rescue => e; retry; end #{WHEN_GONE}", boot_seconds: 2) do |server|
      assert_workers_stay(server, File.join(server.folder, "gone"), "The app did not load within 2")
    end
  end

  def test_workers_stay_when_the_configuration_loads_in_the_trial_run_only
    config = "raise 'no vault' if File.exist?(BROKEN) && Elah::Restart.current.state.key?('supervisor')"
    Dir.mktmpdir do |folder|
      pidfile = File.join(folder, "pid")
      supervised_with_config(config, SLOW, pidfile: pidfile) do |server, broken|
        assert_workers_stay(server, broken, "RuntimeError: no vault")
        assert_equal server.pid.to_s, File.read(pidfile).chomp
      end
    end
  end

  # It cannot be replaced without the new code.
  def test_a_worker_that_dies_after_the_code_failed_to_load_makes_the_server_restart_again
    supervised("raise #{WHEN_GONE}") do |server|
      gone = File.join(server.folder, "gone")
      assert_workers_stay(server, gone)
      File.delete(gone)
      pids = worker_pids(server)
      Process.kill(:KILL, pids.first)
      wait_for_workers(server, 2, besides: pids)
      assert_equal "served", server.get("/").body
    end
  end

  # The kernel ignored it: the code of the first deployment was served until somebody restarted again.
  [1, 2].each do |workers|
    define_method(:"test_a_restart_while_the_next_image_of_#{workers}_loads_the_app_serves_the_latest_code") do
      app = <<~RUBY
        unless Elah::Restart.current.trial? || Elah::Restart.current.state.empty?
          File.write("loading", "")
          Thread.pass until File.exist?("gate")
        end
        #{SLOW}
      RUBY
      supervised(app, workers: workers) do |server|
        server.signal(:HUP)
        wait_until("the next image loads the app") { File.exist?(File.join(server.folder, "loading")) }
        File.write(File.join(server.folder, "app.rb"), SLOW.sub("served", "later"))
        Process.kill(:HUP, server.pid)
        File.write(File.join(server.folder, "gate"), "")
        wait_until("the later code serves") { server.get("/").body == "later" }
      end
    end
  end

  # It lived for ever, with its memory, as a child of process 1.
  def test_term_kills_the_trial_run_of_a_supervisor
    app = <<~RUBY
      File.write("trial", Process.pid) && sleep if Elah::Restart.current.trial?
      #{SLOW}
    RUBY
    supervised(app) do |server|
      server.signal(:HUP)
      trial = File.join(server.folder, "trial")
      wait_until("the trial loads") { File.size?(trial) }
      server.signal(:TERM)
      assert_predicate server.wait_until_ended, :success?
      assert_raises(Errno::ESRCH) { Process.kill(0, File.read(trial).to_i) }
    end
  end

  # Code that was loaded when it was first named ended the worker, and the workers that replaced it.
  [1, 2].each do |workers|
    define_method(:"test_the_code_of_#{workers}_may_be_gone_while_it_runs") do
      Dir.mktmpdir do |folder|
        %w[lib exe].each { |name| FileUtils.cp_r(File.join(ROOT, name), folder) }
        release = ["sh", "-c", "shift && exec #{folder}/exe/elah \"$@\"", "sh"]
        ElahServer.start(FAILING, under: release, workers: workers) do |server|
          FileUtils.rm_r(File.join(folder, "lib"))
          assert_equal 500, server.get("/fails").status
          if workers > 1
            killed = worker_pids(server).first
            Process.kill(:KILL, killed)
            wait_for_workers(server, workers, besides: [killed])
          end
          assert_equal ["both", 500], [server.get("/parallel").body, server.get("/fails").status]
        end
      end
    end
  end

  ENTITY = <<~'RUBY'
    class Hits < Elah::Entity
      def restore = @count = 0
      def hit = @count += 1
    end
    HITS = Hits.in(Elah::Store.open(Elah.config.data))

    class App < Elah::API
      format :txt
      get(:hit) { HITS["all"].hit.class.name }
      get(:locked) { File.open(__FILE__) { |file| file.flock(File::LOCK_EX) }.to_s }
      get(:env) { env["REQUEST_METHOD"] }
      mount ->(_env) { [200, {}, ["mounted"]] } => "/rack"
    end
    run App
  RUBY

  # A worker of an app with entities, or whose hook names them first, had no successor when the files were gone.
  # A lock of a file was a 500.
  {
    entities: [ENTITY, ""],
    hooks: [SLOW, 'before_worker_boot { Elah.every(60, once: "tidy") { nil } }'],
    apps: ["Elah::Config.at(:before_worker_boot) { Elah.every(60, once: 'tidy') { nil } }\n#{SLOW}", ""]
  }.each do |what, (app, config)|
    define_method(:"test_the_code_for_#{what}_may_be_gone_while_it_runs") do
      Dir.mktmpdir do |folder|
        %w[lib exe].each { |name| FileUtils.cp_r(File.join(ROOT, name), folder) }
        File.write(configuration = File.join(folder, "elah.rb"), config)
        release = ["sh", "-c", "shift && exec #{folder}/exe/elah \"$@\"", "sh"]
        ElahServer.start(app, under: release, workers: 2, config: configuration) do |server|
          FileUtils.rm_r(File.join(folder, "lib"))
          2.times do
            killed = worker_pids(server).first
            Process.kill(:KILL, killed)
            wait_for_workers(server, 2, besides: [killed])
          end
          next unless app == ENTITY

          assert_equal(%w[Integer 0 GET mounted], %w[/hit /locked /env /rack].map { |path| server.get(path).body })
        end
      end
    end
  end

  # It stayed held: the first had no effect, and the second ended the process without its workers.
  def test_quit_stops_a_server_whose_restart_could_not_be_executed
    script = <<~RUBY
      restart = Dir.chdir(ARGV.first) { Elah::Restart.current }
      Dir.rmdir(ARGV.first)
      begin
        restart.go({}, [])
      rescue Errno::ENOENT
        trap("TERM") { exit!(7) }
        Process.kill(:QUIT, Process.pid)
        sleep
      end
    RUBY
    command = ["timeout", "60", RbConfig.ruby, "-I#{ROOT}/lib", "-relah", "-relah/server/restart", "-e", script]
    system(*command, Dir.mktmpdir)
    assert_equal 7, $?.exitstatus
  end

  private

  def with_request_during_restart(path, **options)
    ElahServer.start(SLOW, **options) do |server|
      client = server.connect.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
      server.signal(:HUP)
      yield server, client
    ensure
      client&.close
    end
  end

  # @param fault [String] the file whose presence keeps the code from being loaded
  def assert_workers_stay(server, fault, message = "")
    pids = worker_pids(server)
    File.write(fault, "")
    traffic = traffic(server, target: "/") do
      server.signal(:HUP)
      server.wait_for(/ERROR.* after its trial run: the workers continue .*: #{Regexp.escape(message)}/)
      wait_until("the next image supervises") { status(server).server[:generation] == 2 }
    end
    assert_empty traffic.failures
    assert_equal pids, worker_pids(server)
  end

  def assert_restarted(server)
    server.wait_for(/(listening on.*){2}/m)
    assert_equal "served", server.get("/").body
    server.signal(:TERM)
    assert_predicate server.wait_until_ended, :success?
  end
end

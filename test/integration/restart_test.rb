# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# A server that becomes its own successor: new code, the same sockets, no request lost.
class RestartTest < Minitest::Test
  include SupervisedCase

  APP_OF = <<~RUBY
    class Api < Elah::API
      get("/") { %p }
      get("/sleep/:ms") { sleep(params[:ms].to_i / 1000.0) && "slept" }
      get("/held") { (sleep(0.01) until File.exist?("released")) || "released" }
    end
    run Api
  RUBY

  def write(server, source) = File.write(File.join(server.folder, "app.rb"), source)

  %i[USR1 USR2 HUP].each do |signal|
    define_method(:"test_#{signal}_serves_the_new_code_and_loses_no_request") do
      supervised(format(APP_OF, "old")) do |server|
        pids = worker_pids(server)
        write(server, format(APP_OF, "new"))
        counts = traffic(server) do
          server.signal(signal)
          server.wait_for(/Restarted; listening/)
          wait_for_workers(server, 2, besides: pids)
        end
        assert_empty counts.failures
        assert_operator counts.answered, :>, 10
        assert_equal "new", server.get("/").body
        assert_equal 2, status(server).server[:generation]
      end
    end
  end

  def test_what_runs_when_a_restart_comes_is_answered
    supervised(format(APP_OF, "old")) do |server|
      pids = worker_pids(server)
      clients = Array.new(8) { server.connect.write("GET /sleep/2000 HTTP/1.1\r\nHost: a\r\n\r\n") }
      wait_until("all run") { workers(server).sum { |worker| worker[:fibers] } == 8 }
      server.signal(:USR2)
      assert_equal ["slept"], clients.map { |client| client.read_answer.body }.uniq
      wait_for_workers(server, 2, besides: pids)
    ensure
      clients&.each(&:close)
    end
  end

  def test_code_that_does_not_load_is_not_served
    supervised(format(APP_OF, "old")) do |server|
      pids = worker_pids(server)
      write(server, "this is no Ruby (")
      server.signal(:HUP)
      server.wait_for(/The trial process failed: the workers continue/)
      assert_equal ["old", pids], [server.get("/").body, worker_pids(server)]
      write(server, format(APP_OF, "new"))
      server.signal(:HUP)
      wait_for_workers(server, 2, besides: pids)
      assert_equal "new", server.get("/").body
    end
  end

  def test_a_restarted_supervisor_looks_after_its_workers
    supervised(hang_seconds: 2) do |server|
      pids = worker_pids(server)
      server.signal(:HUP)
      wait_for_workers(server, 2, besides: pids)
      killed, stopped = worker_pids(server)
      Process.kill(:KILL, killed)
      Process.kill(:STOP, stopped)
      wait_for_workers(server, 2, besides: [killed, stopped])
      server.signal(:TTIN)
      wait_for_workers(server, 3)
    end
  end

  # The log said that it had restarted, and no more.
  def test_workers_whose_successors_fail_to_boot_stay_and_the_log_counts_them
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, "workers 2")
      ElahServer.start(APP, config: file) do |server|
        wait_for_workers(server, 2)
        pids = worker_pids(server)
        File.write(file, "workers 2\nbefore_worker_boot { raise 'not today' }")
        server.signal(:HUP)
        server.wait_for(/Restarted, except 2 of 2 workers/)
        assert_equal [pids, "hello"], [worker_pids(server), server.get("/").body]
      end
    end
  end

  def test_the_configuration_is_read_anew
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, "workers 2")
      ElahServer.start(APP, config: file) do |server|
        File.write(file, "workers 3\nbind 'tcp://127.0.0.1:0'")
        server.signal(:HUP)
        server.wait_for(/The number of workers is 3/)
        wait_for_workers(server, 3)
        File.write(file, "workers 1")
        server.signal(:HUP)
        server.wait_for(/The number of workers is 1/)
        wait_for_workers(server, 1)
        assert_equal "hello", server.get("/").body
      end
    end
  end

  def test_one_process_restarts_with_its_sockets
    ElahServer.start(format(APP_OF, "old")) do |server|
      write(server, format(APP_OF, "new"))
      counts = traffic(server) do
        server.signal(:USR2)
        server.wait_for(/(listening on.*){2}/m)
      end
      assert_empty counts.failures
      assert_equal "new", server.get("/").body
    end
  end

  # They ran in each trial run, and undid beside the running server what the app needs, such as its place in a registry.
  def test_a_trial_run_calls_no_at_exit_block_of_the_app
    app = 'at_exit { File.write("ended", "") } if Elah::Restart.current.trial?'
    supervised("#{app}\n#{format(APP_OF, 'old')}") do |server|
      pids = worker_pids(server)
      server.signal(:HUP)
      wait_for_workers(server, 2, besides: pids)
      write(server, "#{app}\nraise 'no new code'")
      server.signal(:HUP)
      server.wait_for(/The trial process failed/)
      refute_path_exists File.join(server.folder, "ended")
    end
  end

  def test_one_process_serves_on_when_the_code_does_not_load
    ElahServer.start(format(APP_OF, "old")) do |server|
      write(server, "this is no Ruby (")
      server.signal(:HUP)
      server.wait_for(/The trial process failed: the server continues/)
      assert_equal "old", server.get("/").body
    end
  end

  # Both ended the server: the trial run loaded the file, and the next image found the rest.
  [1, 2].each do |workers|
    define_method(:"test_what_contradicts_itself_is_not_served_by_#{workers}") do
      ElahServer.start(format(APP_OF, "old"), workers: workers) do |server|
        write(server, 'run(Class.new(Elah::API) { get("/:id/:id") { 1 } })')
        server.signal(:HUP)
        server.wait_for(/uses the parameter name "id" twice.*The trial process failed/m)
        assert_equal "old", server.get("/").body
      end
    end

    define_method(:"test_an_address_that_is_taken_is_not_moved_to_by_#{workers}") do
      Dir.mktmpdir do |folder|
        file = File.join(folder, "config.rb")
        File.write(file, "workers #{workers}\nbind 'tcp://127.0.0.1:0'")
        taken = TCPServer.new("127.0.0.1", 0)
        ElahServer.start(APP, bind: [], config: file) do |server|
          File.write(file, "workers #{workers}\nbind 'tcp://127.0.0.1:#{taken.addr[1]}'")
          server.signal(:HUP)
          server.wait_for(/Cannot listen on \S+:#{taken.addr[1]}: .*The trial process failed/m)
          assert_equal "hello", server.get("/").body
        end
      ensure
        taken&.close
      end
    end
  end

  # As releases are deployed: each in a folder of its own, and a link to the current one.
  # Twelve signals started twelve trial runs side by side, and left eleven zombies.
  def test_one_process_makes_one_trial_run_at_a_time_and_at_most_one_more
    with_gated_trials do |server, gate, loads|
      server.signal(:USR2)
      wait_until("the trial run loads") { loads.call == 2 }
      11.times { server.signal(:USR2) && server.get("/") }
      File.write(gate, "")
      wait_until("another trial run loads") { loads.call == 3 }
      File.write(gate, "")
      wait_until("both have failed") { server.log.scan("The trial process failed").size == 2 }
      assert_equal ["old", 3], [server.get("/").body, loads.call]
      wait_until("no trial run is left") { children_of(server).empty? }
    end
  end

  def test_a_trial_run_of_one_process_that_does_not_end_is_killed
    with_gated_trials(boot_seconds: 0.5) do |server, _gate, loads|
      server.signal(:USR2)
      server.wait_for(/The trial process did not finish within 0\.5 s: killing it/)
      assert_equal "old", server.get("/").body
      wait_until("no trial run is left") { children_of(server).empty? }
      assert_operator loads.call, :<=, 2
    end
  end

  # The worker that TTIN had started was in no slot of the next image: it served the old code until the server stopped.
  def test_ttin_during_a_trial_run_leaves_no_worker_with_the_old_code
    app = "File.read('gate') if Elah::Restart.current.trial?\n#{format(APP_OF, 'old')}"
    supervised(app) do |server|
      gate = File.join(server.folder, "gate")
      File.mkfifo(gate)
      pids = worker_pids(server)
      server.signal(:HUP)
      server.wait_for(/a trial process loads the code/)
      server.signal(:TTIN)
      File.write(gate, "")
      server.wait_for(/Restarted; listening/)
      wait_for_workers(server, 2, besides: pids)
    end
  end

  # TERM was forgotten: the server had closed its sockets, executed itself and served on another port.
  def test_term_ends_one_process_during_a_trial_run
    with_gated_trials do |server, gate, loads|
      client = server.connect.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
      server.signal(:USR2)
      wait_until("the trial loads") { loads.call == 2 }
      server.signal(:TERM)
      wait_until("it drains") { status(server).workers.first[:state] == :draining }
      File.write(gate, "")
      File.write(File.join(server.folder, "released"), "")
      assert_equal "released", client.read_answer.body
      assert_predicate server.wait_until_ended, :success?
      assert_equal 1, server.log.scan("listening on").size
    ensure
      client&.close
    end
  end

  # TERM ended the process at once, and with it the connections that waited in its sockets.
  def test_term_while_the_next_image_loads_the_app_is_obeyed_when_it_serves
    [1, 2].each do |workers|
      Dir.mktmpdir do |folder|
        loading, gate = %w[loading gate].map { |name| File.join(folder, name) }
        app = <<~RUBY
          unless Elah::Restart.current.trial? || Elah::Restart.current.state.empty?
            File.write(#{loading.dump}, "")
            Thread.pass until File.exist?(#{gate.dump})
          end
          #{format(APP_OF, 'new')}
        RUBY
        server = ElahServer.start(app, workers: workers)
        server.signal(:USR2)
        wait_until("the next image loads the app") { File.exist?(loading) }
        server.connect do |client|
          client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          Process.kill(:TERM, server.pid)
          File.write(gate, "")
          assert_equal "new", client.read_answer.body, "#{workers} workers"
        end
        assert_predicate server.wait_until_ended, :success?
        refute_path_exists File.join(server.folder, "run", server.pid.to_s)
      ensure
        server&.kill
      end
    end
  end

  # TERM ended the process, with what waited in its sockets, and left its run folder.
  def test_term_while_the_next_image_loads_elah_is_obeyed_when_it_serves
    [1, 2].each do |workers|
      Dir.mktmpdir do |folder|
        loading, gate, file = %w[loading gate first.rb].map { |name| File.join(folder, name) }
        File.write(file, <<~RUBY)
          module Gate
            def require(name)
              if name == "elah/cli" && ENV.key?("ELAH_RESTART") && !ENV["ELAH_RESTART"].include?("trial")
                File.write(#{loading.dump}, "")
                Thread.pass until File.exist?(#{gate.dump})
              end
              super
            end
          end
          Object.prepend(Gate)
        RUBY
        server = ElahServer.start(format(APP_OF, "new"), workers: workers, env: { "RUBYOPT" => "-r#{file}" })
        server.signal(:USR2)
        wait_until("the next image loads Elah") { File.exist?(loading) }
        server.connect do |client|
          client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          Process.kill(:TERM, server.pid)
          File.write(gate, "")
          assert_equal "new", client.read_answer.body, "#{workers} workers"
        end
        assert_predicate server.wait_until_ended, :success?
        refute_path_exists File.join(server.folder, "run", server.pid.to_s)
      ensure
        server&.kill
      end
    end
  end

  # They were reset.
  def test_term_before_a_restart_serves_the_connections_that_wait_for_it
    draining_for_a_restart do |server, running|
      waiting = Array.new(200) { server.connect.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      server.signal(:TERM)
      assert_equal ["old"] * 200, waiting.map { |client| client.read_answer.body }
      assert_equal "slept", running.read_answer.body
      assert_predicate server.wait_until_ended, :success?
    ensure
      waiting&.each(&:close)
    end
  end

  # TERM was ignored while one process drained for a restart.
  def test_term_ends_one_process_that_is_about_to_restart
    draining_for_a_restart do |server, client|
      server.signal(:TERM)
      assert_equal "slept", client.read_answer.body
      assert_predicate server.wait_until_ended, :success?
      assert_equal 1, server.log.scan("listening on").size
    end
  end

  # The new code began with an empty folder, and said nothing.
  def test_a_release_without_the_data_is_refused
    app = <<~'RUBY'
      COUNTS = Elah::Store.open(Elah.config.state("counts")).counter("counts")
      run ->(_) { [200, {}, ["%s #{COUNTS.increment("a")}"]] }
    RUBY
    with_releases(app) do |folder, path, pid|
      assert_equal "old 1", ask(path)
      Process.kill(:HUP, pid)
      log = File.join(folder, "log")
      wait_until("it is refused") { File.read(log).include?("the workers continue with the old code") }
      assert_match(%r{The data folder data is .*/old/data until now, and would be .*/new/data,}, File.read(log))
      assert_equal ["old 2", ["app.rb"]], [ask(path), Dir.children(File.join(folder, "new"))]
      File.symlink("../old/data", File.join(folder, "new/data"))
      Process.kill(:HUP, pid)
      wait_until("the new release serves") { ask(path)&.start_with?("new") }
    end
  end

  # It was taken for another folder.
  def test_a_data_folder_that_was_moved_is_found_behind_a_symlink
    app = "STORE = Elah::Store.open(Elah.config.state(\"counts\"))\n#{APP_OF}"
    with_releases(app) do |folder, path, pid|
      data = File.join(folder, "old/data")
      File.rename(data, File.join(folder, "moved"))
      [data, File.join(folder, "new/data")].each { |link| File.symlink("../moved", link) }
      Process.kill(:HUP, pid)
      wait_until("the new release serves") { ask(path) == "new" }
    end
  end

  def test_the_working_directory_is_entered_anew_by_its_name
    with_releases(APP_OF) do |_, path, pid|
      assert_equal "old", ask(path)
      Process.kill(:USR2, pid)
      wait_until("the new release serves") { ask(path) == "new" }
    end
  end

  def test_a_unix_socket_stays
    Dir.mktmpdir do |folder|
      path = File.join(folder, "elah.sock")
      supervised(bind: "unix://#{path}") do |server|
        pids = worker_pids(server)
        server.signal(:USR2)
        wait_for_workers(server, 2, besides: pids)
        assert_equal "hello", server.get("/").body
      end
      refute_path_exists path
    end
  end

  # As by a program that cleans /tmp: the log said that it listens there, and nobody could connect.
  [1, 2].each do |workers|
    define_method(:"test_a_unix_socket_whose_file_is_gone_is_bound_again_by_#{workers}") do
      Dir.mktmpdir do |folder|
        path = File.join(folder, "elah.sock")
        ElahServer.start(format(APP_OF, "new"), workers: workers, bind: "unix://#{path}") do |server|
          File.unlink(path)
          server.signal(:HUP)
          server.wait_for(/(listening on.*){2}/m)
          wait_until("the next image serves") { ask(path) == "new" }
        end
        refute_path_exists path
      end
    end
  end

  private

  # A server of one process that drains for a restart.
  #
  # @yieldparam server [ElahServer]
  # @yieldparam client [HttpClient] of the request for which it still runs
  def draining_for_a_restart
    ElahServer.start(format(APP_OF, "old")) do |server|
      client = server.connect.write("GET /sleep/1000 HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
      server.signal(:USR2)
      wait_until("it drains") { status(server).workers.first[:state] == :draining }
      yield server, client
    ensure
      client&.close
    end
  end

  # A server that was started in the folder `current`, a symlink to the release `old`, and which leads to the release
  # `new` now.
  #
  # @param app [String] its file, with the name of the release for %s
  # @yieldparam folder [String] of the releases
  # @yieldparam path [String] of its socket
  # @yieldparam pid [Integer]
  def with_releases(app)
    Dir.mktmpdir do |folder|
      %w[old new].each do |release|
        Dir.mkdir(File.join(folder, release))
        File.write(File.join(folder, release, "app.rb"), format(app, release))
      end
      current = File.join(folder, "current")
      File.symlink("old", current)
      path = File.join(folder, "elah.sock")
      arguments = ["serve", "app.rb", "-b", "unix://#{path}", "--run-dir", File.join(folder, "run"), "--workers", "2"]
      log = File.join(folder, "log")
      pid = Process.spawn({ "PWD" => current }, ElahServer::EXECUTABLE, *arguments, chdir: current, err: log)
      # Before, a signal would end it.
      wait_until("it is ready") { File.exist?(path) && Elah::RunDir.all(File.join(folder, "run")).any? }
      File.unlink(current)
      File.symlink("new", current)
      yield folder, path, pid
    ensure
      Process.kill(:TERM, pid) && Process.wait(pid) if pid
    end
  end

  def ask(path)
    HttpClient.open("unix://#{path}") { |client| client.get("/").body }
  rescue SystemCallError
    nil
  end

  # A server of one process whose code is noted whenever it is loaded. A trial run waits until somebody writes to the
  # gate, and fails.
  #
  # @yieldparam loads [#call] gives how often it was loaded
  def with_gated_trials(**options)
    app = <<~RUBY
      first = !File.exist?("loads")
      File.write("loads", "x", mode: "a")
      first || File.read("gate") && raise("it does not load")
      #{format(APP_OF, 'old')}
    RUBY
    ElahServer.start(app, **options) do |server|
      gate = File.join(server.folder, "gate")
      File.mkfifo(gate)
      yield server, gate, -> { File.size(File.join(server.folder, "loads")) }
    end
  end

  # @return [Array<String>] ids of processes, zombies among them
  def children_of(server) = File.read("/proc/#{server.pid}/task/#{server.pid}/children").split
end

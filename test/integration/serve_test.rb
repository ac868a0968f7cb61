# frozen_string_literal: true

# `elah serve` as a person meets it: listeners, options from all sources, the pid file, signals, start-up.
require "test_helper"
require "open3"
require "support/elah_server"
require_relative "../support/patience"

class ServeTest < Minitest::Test
  include Patience

  APP = <<~RUBY
    class Api < Elah::API
      get("/") { "hello" }
      get("/config/:name") { Elah.config.public_send(params[:name]).to_s }
    end
    run Api
  RUBY

  def serve(app = APP, **options, &block) = ElahServer.start(app, **options, &block)

  def test_it_answers_prints_the_chosen_port_and_ends_by_term_or_int
    %i[TERM INT].each do |signal|
      serve do |server|
        refute_equal 0, server.port
        assert_equal [200, "hello"], server.get("/").to_a.values_at(0, 3)
        server.stop(with: signal)
      end
    end
  end

  def test_it_listens_on_a_unix_socket_and_removes_it
    Dir.mktmpdir do |folder|
      path = File.join(folder, "elah.sock")
      serve(bind: "unix://#{path}") do |server|
        assert_equal "unix://#{path}", server.url
        assert_equal "hello", server.get("/").body
        assert File.socket?(path)
      end
      refute_path_exists path
    end
  end

  # The old server removed the file of the new one as it stopped: nobody could connect any more.
  def test_it_leaves_the_socket_of_a_server_that_has_taken_its_path_over
    Dir.mktmpdir do |folder|
      path = File.join(folder, "elah.sock")
      [1, 2].each do |workers|
        old = ElahServer.start(APP, bind: "unix://#{path}", workers: workers)
        old.signal(:HUP)
        old.wait_for(workers == 1 ? /listening.*listening/m : /Restarted/)
        File.unlink(path)
        serve(bind: "unix://#{path}") do |server|
          old.stop
          assert_equal "hello", server.get("/").body
        end
        refute_path_exists path
      ensure
        old&.kill
      end
    end
  end

  # In the locale C, Ruby reads the command line and paths as ASCII.
  def test_paths_that_are_not_ascii
    app = <<~RUBY
      require "elah/api"
      TABLE = Elah::Store.open(File.join(Elah.config.data, "shop")).table("items")
      run(Class.new(Elah::API) { get("/") { TABLE.put("a", Elah.settings["word"]); TABLE.get("a") } })
    RUBY
    Dir.mktmpdir do |parent|
      folder = File.join(parent, "caf\u00E9")
      Dir.mkdir(folder)
      File.write(File.join(folder, "app.rb"), app)
      File.write(File.join(folder, "config.rb"), "set :word, 'th\u00E9'")
      socket = "unix://#{folder}/socket\u00FC"
      options = { bind: socket, data: "data\u00FC", run_dir: "run\u00FC", pidfile: "pid\u00FC" }
      under = ["env", "--chdir", folder, "LC_ALL=C"]
      serve(File.join(folder, "app.rb"), under: under, config: "config.rb", workers: 2, **options) do |server|
        assert_equal socket, server.url
        assert_equal "th\u00E9".b, server.get("/").body
        assert_path_exists File.join(folder, "data\u00FC/shop/data.mdb")
        assert_equal server.pid, Integer(File.read(File.join(folder, "pid\u00FC")))
        assert_path_exists File.join(folder, "run\u00FC/#{server.pid}")
        server.signal(:HUP)
        server.wait_for(/Restarted/)
        assert_equal "th\u00E9".b, server.get("/").body
      end
    end
  end

  def test_it_listens_on_ipv6
    skip "This machine has no IPv6 loopback." unless Socket.ip_address_list.any?(&:ipv6_loopback?)
    serve(bind: "tcp://[::1]:0") do |server|
      assert_match(/\Atcp:\/\/\[::1\]:\d+\z/, server.url)
      assert_equal "hello", server.get("/").body
    end
  end

  def test_it_listens_on_several_addresses
    Dir.mktmpdir do |folder|
      path = "unix://#{folder}/elah.sock"
      serve(bind: ["tcp://127.0.0.1:0", path]) do |server|
        assert_equal "hello", server.get("/").body
        assert_equal "hello", HttpClient.open(path) { |client| client.get("/") }.body
      end
    end
  end

  def test_options_of_flags_and_the_environment_reach_the_app
    serve(queue_max: 7, env: { "ELAH_HEADERS_MAX" => "55", "RACK_ENV" => "staging" }) do |server|
      assert_equal %w[7 55 staging],
                   %w[queue_max headers_max environment].map { |name| server.get("/config/#{name}").body }
      assert_equal File.join(server.folder, "data"), server.get("/config/data").body
    end
  end

  # With an empty variable for the URL each machine kept a state of its own, without a word.
  def test_options_of_a_cluster_without_one_are_told
    app = "class App < Elah::API\nget('/') { Elah.config.cluster.inspect }\nend\nrun App\n"
    told = { { cluster_node: "one", workers: 1 } => /cluster_listen and cluster_node have no effect/,
             { workers: 2 } => /WARN .*\] cluster_listen has no effect/ }
    told.each do |options, warning|
      log = serve(app, env: { "ELAH_CLUSTER" => "" }, cluster_listen: "127.0.0.1:23000-23009", **options) do |server|
        assert_equal "nil", server.get("/").body
        server.wait_for(warning)
        server.stop
        server.log
      end
      assert_equal 1, log.scan("no effect").size
    end
  end

  # A text without "postgres://" was the name of a folder in the working directory, password and all.
  def test_a_wrong_cluster_ends_the_start_and_the_message_hides_its_password
    Dir.mktmpdir do |folder|
      app, file = %w[app.rb config.rb].map { |name| File.join(folder, name) }
      File.write(app, "Elah::Store.open(Elah.config.state)\nrun ->(_) { [200, {}, []] }\n")
      ["app:secret@db1/shop", "postgres:/app:secret@db1/shop", "postgres://app:secret@db1:x/shop"].each do |wrong|
        File.write(file, "cluster #{wrong.inspect}")
        [[{}, "--cluster", wrong], [{ "ELAH_CLUSTER" => wrong }], [{}, "--config", file]].each do |env, *flags|
          out, status = Open3.capture2e(env, "timeout", "60", ElahServer::EXECUTABLE, "serve", app, "--port", "0",
                                        *flags, chdir: folder)
          assert_equal 2, status.exitstatus
          refute_includes out, "secret"
        end
      end
    end
  end

  def test_an_address_that_is_taken_ends_the_start
    serve do |server|
      out, status = Open3.capture2e(ElahServer::EXECUTABLE, "serve", File.join(server.folder, "app.rb"), "--bind",
                                    server.url)
      assert_equal 1, status.exitstatus
      assert_match(/\Aelah: .*#{server.port}/, out)
      assert_equal "hello", server.get("/").body
    end
  end

  def test_the_pid_file_keeps_a_second_server_away
    Dir.mktmpdir do |folder|
      pidfile = File.join(folder, "elah.pid")
      serve(env: { "PIDFILE" => pidfile }) do |server|
        assert_equal server.pid, Integer(File.read(pidfile))
        out, status = Open3.capture2e(ElahServer::EXECUTABLE, "serve", File.join(server.folder, "app.rb"), "--pidfile",
                                      pidfile, "-b", "tcp://127.0.0.1:0")
        refusal = "elah: Process #{server.pid} of the pid file #{pidfile} is running: " \
                  "stop it, or set another --pidfile.\n"
        assert_equal [1, refusal], [status.exitstatus, out]
      end
      refute_path_exists pidfile
    end
  end

  # They were in the folder that the app had entered, where `elah status` did not find them.
  def test_relative_paths_start_at_the_folder_in_which_the_server_was_started
    app = "Dir.mkdir('entered') unless Dir.exist?('entered')\nDir.chdir('entered')\nrun ->(_env) { [204, {}, []] }"
    ElahServer.start(app, pidfile: "pid", run_dir: "run", data: "data", workers: 2) do |server|
      assert_equal server.pid, Integer(File.read(File.join(server.folder, "pid")))
      assert_path_exists File.join(server.folder, "run", server.pid.to_s, "scoreboard")
      assert_empty Dir.children(File.join(server.folder, "entered"))
    end
  end

  # Where standard output is a file or a pipe, it appeared when the server ended.
  def test_what_an_app_prints_appears_at_once
    ElahServer.start("puts 'loaded'\nrun Class.new(Elah::API) { get(:prints) { puts 'printed' } }") do |server|
      server.wait_for(/^loaded$/)
      server.get("/prints")
      server.wait_for(/^printed$/)
    end
  end

  def test_hooks_and_settings_of_the_config_file
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, <<~RUBY)
        set :greeting, "from the file"
        before_worker_boot { $stderr.puts "hook: boot" }
        before_worker_shutdown { $stderr.puts "hook: shutdown" }
      RUBY
      app = "class Api < Elah::API; get('/') { Elah.settings['greeting'] }; end\nrun Api"
      log = serve(app, config: file) do |server|
        assert_equal "from the file", server.get("/").body
        server.stop
        server.log
      end
      assert_match(/hook: boot.*listening.*hook: shutdown/m, log)
    end
  end

  # Nothing that came after the hook was done: what still ran was dropped, without its `ensure`.
  def test_a_shutdown_hook_that_fails_keeps_nobody_from_cleaning_up
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, <<~RUBY)
        before_worker_boot { Elah.async { begin; sleep; ensure; $stderr.puts "cleaned up"; end } }
        before_worker_shutdown { raise "the hook fails" }
      RUBY
      serve(config: file) do |server|
        server.signal(:TERM)
        refute_predicate server.wait_until_ended, :success?
        assert_match(/cleaned up/, server.log)
        assert_match(/the hook fails/, server.log)
        break
      end
    end
  end

  # The log had the exceptions of the fibers that ended with the boot, or of the hooks that found nothing to end.
  def test_the_reason_for_which_a_server_does_not_boot
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, <<~RUBY)
        before_worker_boot do
          Elah.every(1) { nil }
          Elah.async { begin; sleep; ensure; raise "the fiber" end }
          raise "the reason"
        end
        before_worker_shutdown { raise "the shutdown" }
      RUBY
      [1, 2].each do |workers|
        error = assert_raises(ElahServer::Failure) { serve(config: file, workers: workers) { flunk } }
        assert_match(/(: the reason \(RuntimeError\)|failed: RuntimeError: the reason)$/, error.message)
        assert_match(/A before_worker_shutdown block failed: RuntimeError: the shutdown$/, error.message)
        assert_match(/A fiber failed when the loop ended: RuntimeError: the fiber$/, error.message)
        refute_match(/Cancelled: The worker exits\.$/, error.message)
      end
    end
  end

  def test_it_is_ready_soon_and_small
    serve do |server|
      server.get("/")
      private_kb = File.read("/proc/#{server.pid}/smaps_rollup").scan(/^Private_\w+:\s+(\d+)/).flatten.sum(&:to_i)
      bytes_max = RUBY_VERSION < "3.2" ? 21_900_000 : 22_700_000 # later ones take some MB more themselves
      assert_operator private_kb, :<, bytes_max / 1024, "private memory of a worker that has just begun"
    end
    quickest = Array.new(5) do
      started_at = monotonic
      system(ElahServer::EXECUTABLE, "version", out: File::NULL)
      monotonic - started_at
    end.min
    assert_operator quickest, :<, 2, "seconds for the command to start"
  end
end

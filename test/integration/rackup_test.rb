# frozen_string_literal: true

# Rack apps under the command, and Elah under rackup.
require "test_helper"
require "open3"
require "support/elah_server"
require "support/gems"
require "support/patience"

class RackupTest < Minitest::Test
  include Patience

  LIB = File.expand_path("../../lib", __dir__)
  APP = "run ->(env) { [200, { 'content-type' => 'text/plain' }, " \
        "[env['PATH_INFO'], Elah.config.queue_max.to_s, ENV['RACK_ENV'].to_s].join(' ').lines] }"

  def test_a_config_ru_is_served
    ElahServer.start(APP, extension: ".ru", queue_max: 3) do |server|
      assert_equal "/rack 3 development", server.get("/rack").body
    end
  end

  # They were called as an Elah::API is, so the server did not start.
  NATIVE_NAMES = <<~RUBY
    class App
      def call(env) = handle(env["PATH_INFO"])
      def handle(path) = [200, { "content-type" => "text/plain" }, [path]]
      %i[compiled router gates streamed_routes routes cancels_gone].each { |name| define_method(name) { raise } }
    end
    run App.new
  RUBY

  def test_an_app_may_have_methods_with_the_names_of_those_of_an_api
    ElahServer.start(NATIVE_NAMES, extension: ".ru") { |server| assert_equal "/hook", server.get("/hook").body }
  end

  # A delegator has all methods of the API, but its own `call` is the app.
  def test_a_middleware_that_delegates_to_an_api_is_not_passed_over
    app = <<~RUBY
      require "delegate"
      class Hello < Elah::API
        get(:hello) { "hello" }
      end
      class Guard < SimpleDelegator
        def call(env) = env["HTTP_X_KEY"] ? super : [403, { "content-type" => "text/plain" }, []]
      end
      use Guard
      run Hello
    RUBY
    ElahServer.start(app, extension: ".ru") do |server|
      assert_equal [403, 200], [{}, { "x-key" => "1" }].map { |headers| server.get("/hello", headers: headers).status }
    end
  end

  def test_rackup_serves_with_elah_and_hands_on_options
    rackup("-o", "127.0.0.1", "-p", "0", "-O", "queue_max=9", "-E", "production") do |url|
      assert_equal "/ 9 production", HttpClient.open(url) { |client| client.get("/") }.body
    end
  end

  def test_rackup_finds_its_default_host
    rackup("-p",
           "0") { |url| assert_equal "/ 1024 development", HttpClient.open(url) { |client| client.get("/") }.body }
  end

  # Sinatra 4 answers to permitted hosts alone, in development.
  SINATRA = "require 'sinatra'\nset :server, :elah\nset :port, 0\nset :host_authorization, { permitted_hosts: [] }\n"

  # The end was `undefined method 'stop' for #<Elah::Server ...>`, with all of the configuration.
  %i[TERM INT].each do |signal|
    define_method(:"test_a_sinatra_app_that_is_run_as_a_program_ends_by_#{signal}") do
      app = "#{SINATRA}get('/') { 'hello' }"
      lines = program(app,
                      signal) { |url| assert_equal "hello", HttpClient.open(url) { |client| client.get("/").body } }
      refute_match(/NoMethodError|undefined method/, lines.join)
    end
  end

  def test_a_handler_may_stop_the_server
    app = "#{SINATRA}get('/') { settings.running_server.stop; settings.running_server.inspect }"
    program(app, nil) do |url|
      assert_match(%r{\A#<Elah::Server running, 1 workers, on tcp://(localhost|127\.0\.0\.1):0>\z},
                   HttpClient.open(url) { |client| client.get("/").body })
    end
  end

  IN_A_THREAD = <<~RUBY
    require "elah"
    app = ->(_) { [200, { "content-type" => "text/plain" }, ["hello"]] }
    server = Elah::Server.new(app, Elah::Config.build(bind: "tcp://127.0.0.1:0"))
    thread = Thread.new { server.run }
    STOP
    thread.join
    puts "the main thread goes on"
  RUBY

  # As test suites run one. Its stop began in the main thread, where traps run, and asked for the loop there.
  { TERM: "", INT: "", nil => "$stdin.gets; server.stop" }.each do |signal, stop|
    define_method(:"test_a_server_in_a_thread_ends_by_#{signal || 'stop'}") do
      lines = program(IN_A_THREAD.sub("STOP", stop), signal) do |url, input|
        assert_equal "hello", body_of(url)
        input.puts
      end
      assert_equal "the main thread goes on\n", lines.last, lines.join
    end
  end

  def test_a_server_that_does_not_run_is_stopped_already_and_shows_nothing_secret
    server = Elah::Server.new(->(_) {}, Elah::Config.build(bind: "tcp://127.0.0.1:1"))
    assert_nil server.stop
    assert_equal ["#<Elah::Server for tcp://127.0.0.1:1>", "#<Elah::Config>"], [server.inspect, Elah.config.inspect]
  end

  # It had entered "/": config/elah.rb was ignored without a word, and the data were in /data.
  def test_a_daemon_of_rackup_reads_its_config_file_and_keeps_its_data_in_the_folder_of_the_app
    app = "run ->(_) { [200, {}, [Elah.config.queue_max.to_s, ' ', File.expand_path(Elah.config.data)]] }"
    with_file("config.ru", app) do |folder|
      FileUtils.mkdir(File.join(folder, "config"))
      File.write(File.join(folder, "config/elah.rb"), "queue_max 7\n")
      with_daemon(folder) do |url|
        body = HttpClient.open(url) { |client| client.get("/") }.body
        assert_equal "7 #{File.join(File.realpath(folder), 'data')}", body
      end
    end
  end

  # Rack found its own server running, both in the trial run and after it.
  [1, 2].each do |workers|
    define_method(:"test_rackup_with_a_pid_file_and_#{workers}_workers_restarts") do
      arguments = %w[-S rackup -s elah -o 127.0.0.1 -p 0 -P rack.pid -O] + ["workers=#{workers}"]
      with_file("config.ru", "Process.setproctitle('my app')\n#{APP}") do |folder|
        assert_restarts(folder, arguments, File.join(folder, "rack.pid"), env: { "RUBYOPT" => "-relah" })
      end
    end
  end

  RECURSION = <<~RUBY
    def depth(levels) = (@levels = levels) && depth(levels + 1)
    run lambda { |_|
      begin
        depth(1)
      rescue SystemStackError
        [200, { "content-type" => "text/plain" }, [@levels.to_s]]
      end
    }
  RUBY
  STACKS = %w[RUBY_FIBER_VM_STACK_SIZE RUBY_FIBER_MACHINE_STACK_SIZE].freeze

  # Only the command `elah` starts Ruby with larger stacks for fibers. A view that renders itself, as a tree of comments
  # does, failed under rackup and `rails server`, and nothing said why.
  def test_rackup_names_the_command_with_which_code_may_recurse_deeply
    warned, shallow = levels_under_rackup(STACKS.to_h { |name| [name, nil] })
    assert_equal 1, warned.size
    assert_match(/start it as `(RUBY_\w+=\d+ ){2}\S*ruby\S* .*rackup -s elah -o 127\.0\.0\.1 -p 0`/, warned.first)
    quiet, deep = levels_under_rackup(warned.first.scan(/(RUBY_\w+)=(\d+)/).to_h)
    assert_empty quiet
    assert_operator deep, :>, shallow * 2
  end

  def test_rackup_lists_the_options
    out, = Open3.capture2e(RbConfig.ruby, "-I", LIB, "-S", "rackup", "-s", "elah", "-h")
    assert_includes out, "-O queue_max=N"
    assert_includes out, "-O header_bytes_max=BYTES"
  end

  def test_a_wrong_option_ends_the_start
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "config.ru"), APP)
      out, status = Open3.capture2e(RbConfig.ruby, "-I", LIB, "-S", "rackup", "-s", "elah", "-O", "queue_max=many",
                                    chdir: folder)
      refute_predicate status, :success?
      assert_includes out, "queue_max must be a whole number from 0 to 1000000"
    end
  end

  # The store was in ./data, without a word, and `elah store backup --data` found nothing in the given folder.
  def test_rackup_warns_of_options_that_come_after_the_app_has_used_them
    app = "require 'elah'\nElah.config.data\n#{APP}"
    lines = with_file("config.ru", app) do |folder|
      run_rackup(folder, "-O", "data=srv", "-O", "queue_max=9") { |process, _| Process.kill(:TERM, process.pid) }
    end
    assert_match(/WARN.*before rackup passed data: .*Set ELAH_DATA or config\/elah\.rb/, lines.join)
  end

  # The app kept its state in the embedded store, whatever ELAH_STORE said.
  def test_rackup_refuses_a_store_that_the_app_does_not_support
    with_file("config.ru", APP) do |folder|
      out, status = Open3.capture2e({ "ELAH_STORE" => "redis://127.0.0.1:1" }, RbConfig.ruby, "-I", LIB,
                                    *%w[-S rackup -s elah -p 0], chdir: folder)
      refute_predicate status, :success?
      assert_includes out, "This app does not support the option store"
    end
  end

  # What the app has set since Elah was loaded does not last: dotenv leaves a variable that is set.
  def test_a_restart_under_rackup_reads_the_variables_of_the_app_again
    with_file("config.ru", "require 'elah'\nENV['ELAH_QUEUE_MAX'] ||= File.read('variable')\n#{APP}") do |folder|
      variable = File.join(folder, "variable")
      File.write(variable, "7")
      run_rackup(folder) do |process, listen, url|
        assert_equal "/ 7 development", body_of(url)
        File.write(variable, "8")
        Process.kill(:HUP, process.pid)
        assert_equal "/ 8 development", body_of(listen.call)
        Process.kill(:TERM, process.pid)
      end
    end
  end

  # It had the socket: it kept the port when the server had ended.
  def test_a_program_that_is_started_by_config_ru_has_no_socket_after_a_restart
    app = <<~RUBY
      require "elah"
      PROGRAM = IO.popen("cat", "w")
      run ->(_env) { [200, { "content-type" => "text/plain" }, [PROGRAM.pid.to_s]] }
    RUBY
    with_file("config.ru", app) do |folder|
      run_rackup(folder) do |process, listen, _url|
        Process.kill(:HUP, process.pid)
        program = body_of(listen.call)
        assert_empty Dir["/proc/#{program}/fd/*"].map { |path| File.readlink(path) }.grep(/\Asocket:/)
        Process.kill(:TERM, process.pid)
      end
    end
  end

  # The trial run became the owner of the entity, beside the server.
  def test_a_trial_run_of_rackup_calls_no_entity
    app = <<~RUBY
      require "elah"
      class Tally < Elah::Entity
        def add = @count = @count.to_i + 1
      end
      TALLIES = Tally.in(Elah::Store.open(Elah.config.data))
      begin
        TALLIES["a"].add
      rescue Elah::OutsideLoop => e
        File.write("refused", e.message)
        raise
      end
      run ->(_env) { [200, { "content-type" => "text/plain" }, [TALLIES["a"].add.to_s]] }
    RUBY
    with_file("config.ru", app) do |folder|
      refused = File.join(folder, "refused")
      run_rackup(folder) do |process, _listen, url|
        assert_equal "2", body_of(url)
        Process.kill(:HUP, process.pid)
        wait_until("the trial run is refused") { File.size?(refused) }
        assert_equal "3", body_of(url)
        Process.kill(:TERM, process.pid)
      end
      assert_match(/Tally cannot be called while the app is loaded/, File.read(refused))
    end
  end

  def test_the_command_of_rails_serves_with_elah
    with_rails_app do |folder|
      run_until_ended(folder, %w[bin/rails server -u elah -b 127.0.0.1 -p 0], :TERM) do |url|
        assert_equal "by Rails", HttpClient.open(url) { |client| client.get("/") }.body
      end
    end
  end

  def test_the_command_of_rails_restarts
    with_rails_app do |folder|
      assert_restarts(folder, %w[bin/rails server -u elah -b 127.0.0.1 -p 0], File.join(folder, "tmp/pids/server.pid"))
    end
  end

  # Rackup, which holds the handlers since Rack 3, is in no package of Debian 12: this file stands for what it offers
  # them.
  def test_the_handler_of_rackup_registers_itself
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p(File.join(folder, "rackup"))
      File.write(File.join(folder, "rackup/handler.rb"), <<~RUBY)
        module Rackup
          module Handler
            def self.register(name, handler)
              puts("\#{name} \#{handler} \#{handler.respond_to?(:run)} \#{handler.respond_to?(:valid_options)}")
            end
          end
        end
      RUBY
      out, = Open3.capture2e(RbConfig.ruby, "-I", LIB, "-I", folder, "-e", 'require "rackup/handler/elah"')
      assert_equal "elah Rackup::Handler::Elah true true\n", out
    end
  end

  private

  def rackup(*arguments, &block)
    with_file("config.ru", APP) do |folder|
      run_until_ended(folder, %w[-S rackup -s elah] + arguments, :TERM, &block)
    end
  end

  # Yields the URL of a daemon, and ends it.
  def with_daemon(folder)
    bind = "unix://#{folder}/socket"
    pid_file = File.join(folder, "rack.pid")
    arguments = %W[-I #{LIB} -S rackup -D -s elah -P #{pid_file} -O bind=#{bind}]
    output, status = Open3.capture2e(RbConfig.ruby, *arguments, chdir: folder)
    assert_predicate status, :success?, output
    wait_until("it listens") { listens?(bind) }
    yield bind
  ensure
    pid = File.exist?(pid_file) && File.read(pid_file).to_i
    if pid
      Process.kill(:TERM, pid)
      wait_until("it has ended") { !File.exist?(pid_file) }
    end
  end

  # The file of a socket is there before its server listens.
  def listens?(bind)
    HttpClient.open(bind) { true }
  rescue Errno::ENOENT, Errno::ECONNREFUSED
    false
  end

  def body_of(url) = HttpClient.open(url) { |client| client.get("/") }.body

  def run_rackup(folder, *arguments)
    run_program(folder, %w[-S rackup -s elah -o 127.0.0.1 -p 0] + arguments) do |process, listen|
      yield process, listen, listen.call
    end
  end

  # @return [Array(Array<String>, Integer)] the warnings about the stack, and how deeply a handler recursed
  def levels_under_rackup(env)
    levels = nil
    lines = with_file("config.ru", RECURSION) do |folder|
      run_program(folder, %w[-S rackup -s elah -o 127.0.0.1 -p 0], env: env) do |process, listen|
        levels = HttpClient.open(listen.call) { |client| client.get("/") }.body.to_i
        Process.kill(:TERM, process.pid)
      end
    end
    [lines.grep(/WARN.*stack/), levels]
  end

  # Sends HUP and waits until the next image listens, by its pid file.
  def assert_restarts(folder, arguments, pid_file, env: {})
    run_program(folder, arguments, env: env) do |process, listen|
      listen.call
      2.times do
        Process.kill(:HUP, File.read(pid_file).to_i)
        listen.call
        assert_equal process.pid.to_s, File.read(pid_file)
        assert_equal [pid_file], Dir["#{pid_file}*"]
      end
      Process.kill(:TERM, process.pid)
    end
    refute_path_exists pid_file
  end

  def with_rails_app
    Gems.missing("railties")&.then { |reason| skip reason }
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p([File.join(folder, "config"), File.join(folder, "bin")])
      File.write(File.join(folder, "config/application.rb"), <<~RUBY)
        require "action_controller/railtie"
        class Shop < Rails::Application
          config.eager_load = false
          config.secret_key_base = "s" * 32
          config.hosts.clear
          config.logger = Logger.new(File::NULL)
          routes.append { get "/", to: ->(_) { [200, { "content-type" => "text/plain" }, ["by Rails"]] } }
        end
      RUBY
      File.write(File.join(folder, "config/environment.rb"), 'require_relative "application"; Shop.initialize!')
      File.write(File.join(folder, "config.ru"), 'require_relative "config/environment"; run Shop')
      File.write(File.join(folder, "bin/rails"),
                 'APP_PATH = File.expand_path("../config/application", __dir__); require "rails/commands"')
      yield folder
    end
  end

  def program(app, signal, &block)
    with_file("app.rb", app) { |folder| run_until_ended(folder, %w[app.rb], signal, &block) }
  end

  def with_file(name, source)
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, name), source)
      yield folder
    end
  end

  # Yields the URL it listens on and its standard input, then sends a signal, unless it ends by itself.
  #
  # @return [Array<String>] what it wrote
  def run_until_ended(folder, arguments, signal)
    run_program(folder, arguments) do |process, listen, input|
      yield listen.call, input
      Process.kill(signal, process.pid) if signal
    end
  end

  # Yields the process, what waits until it listens and returns the URL, and its standard input. Then it ends well.
  #
  # @return [Array<String>] what it wrote
  def run_program(folder, arguments, env: {})
    Open3.popen2e(env, RbConfig.ruby, "-I", LIB, *arguments, chdir: folder) do |input, output, process|
      lines = []
      listen = lambda do
        lines << output.readline
        lines.last[ElahServer::LISTENING, 1] || listen.call
      end
      yield process, listen, input
      lines.concat(output.readlines)
      assert_predicate process.value, :success?, lines.join
      return lines
    rescue EOFError
      flunk "It ended:\n#{lines.join}"
    ensure
      Process.kill(:KILL, process.pid) if process.alive?
    end
  end
end

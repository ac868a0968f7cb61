# frozen_string_literal: true

# The command line: what it understands, and what it says to what it does not.
require "test_helper"
require "fileutils"
require "open3"
require "stringio"
require "tmpdir"

class CliTest < Minitest::Test
  EXECUTABLE = File.expand_path("../../exe/elah", __dir__)
  STACKS = %w[RUBY_FIBER_VM_STACK_SIZE RUBY_FIBER_MACHINE_STACK_SIZE MALLOC_ARENA_MAX].freeze

  def setup = @environment = ENV["RACK_ENV"]
  def teardown = ENV["RACK_ENV"] = @environment # which a command that loads an app sets

  def elah(*argv)
    out = StringIO.new
    err = StringIO.new
    [Elah::CLI.start(argv, out: out, err: err), out.string, err.string]
  end

  def arguments(*argv, env: {}) = Elah::CLI::Arguments.new(argv, env: env)

  def refuse(*argv)
    status, out, err = elah(*argv)
    assert_equal [2, ""], [status, out]
    err
  end

  def test_flags_of_every_option_reach_the_configuration
    Elah::Options.all.each do |option|
      next if %i[config boolean listeners port_range tls_files postgres_url].intersect?([option.name, option.type])

      value = option.default&.to_s || "1"
      config = arguments(option.flag, value).config
      path = %i[data pidfile run_dir].include?(option.name)
      expected = path ? File.expand_path(value) : option.check(value, source: "test")
      assert_equal expected, config.public_send(option.name)
      assert_equal expected, arguments("#{option.flag}=#{value}").config.public_send(option.name)
    end
  end

  def test_addresses_repeat_and_booleans_are_negated
    assert_equal %w[tcp://a:1 unix:///b], arguments("-b", "tcp://a:1", "--bind", "unix:///b").config.bind.map(&:to_s)
    assert_equal [true, false],
                 [arguments("--log-requests").config.log_requests, arguments("--no-log-requests").config.log_requests]
  end

  def test_the_file_stands_anywhere_among_the_flags
    assert_equal "my.rb", arguments("--queue-max", "3", "my.rb", "-p", "4").file
    assert_nil arguments("--queue-max", "3").file
    assert_includes refuse("serve", "a.rb", "b.rb"), "remove b.rb"
  end

  def test_a_flag_and_its_value_may_be_one_word
    assert_equal [80], %w[--port=80 -p80].map { |word| arguments(word).config.port }.uniq
    assert_equal "-x.rb", arguments("--port", "80", "--", "-x.rb").file
    assert_includes refuse("serve", "--log-requests=yes"), "--log-requests does not accept a value: remove =yes"
    assert_includes refuse("serve", "-p"), "-p needs a value"
  end

  def test_settings_are_pairs
    assert_equal "a=b", arguments("--set", "links_api_key=a=b").config.settings["links_api_key"]
    assert_includes refuse("serve", "--set", "links_api_key"), "NAME=VALUE"
  end

  def test_an_unknown_flag_is_answered_with_the_nearest
    assert_equal "elah: Unknown flag --quue-max. Did you mean --queue-max? `elah help serve` lists all.\n",
                 refuse("serve", "--quue-max", "3")
    similar = /--body-bytes-max, (--[a-z-]+), (--[a-z-]+)/
    assert_match(/\Aelah: Unknown flag --max-body\. Similar: #{similar}\. `elah help serve` lists all\.\n\z/,
                 refuse("serve", "--max-body"))
    assert_equal 3, refuse("serve", "--nothing")[/Similar: (.*?)\./, 1].split(", ").size
    assert_includes refuse("serve", "--queue-m=3"), "Unknown flag --queue-m."
    assert_includes refuse("serve", "-z"), "-z"
    assert_includes refuse("serve", "--queue-max"), "--queue-max"
  end

  # It was a backtrace of the first Regexp that saw it.
  def test_an_argument_of_broken_bytes_is_refused
    [%W[doctor \xFF.rb], %W[--\xFF], %W[serve --data=\xFF]].each do |argv|
      assert_equal "elah: The argument #{argv.last.inspect} is not valid UTF-8.\n", refuse(*argv)
    end
  end

  def test_a_wrong_value_names_the_range
    assert_includes refuse("serve", "--queue-max", "-3"),
                    "queue_max must be a whole number from 0 to 1000000, not \"-3\" (flag --queue-max)"
    assert_includes refuse("serve", "--workers", "65"), "from 1 to 64, or auto"
    assert_includes refuse("serve", "--log-level", "loud"), "one of debug, info, warn, error"
    assert_includes refuse("serve", "--bind", "localhost:80"),
                    "tcp://HOST:PORT or unix:///PATH, not \"localhost:80\" (flag --bind)"
    assert_includes refuse("serve", "--body-bytes-max", "10Q"), "such as 64K, 10M or 1G, not \"10Q\""
  end

  # It used to show all servers, whichever process was named.
  def test_the_status_refuses_what_it_would_ignore
    assert_equal "elah: elah status accepts flags only: remove 4711. --pidfile chooses a server.\n",
                 refuse("status", "4711")
  end

  def test_an_unknown_command_is_answered_with_the_nearest_and_all
    assert_includes refuse("srve"),
                    "Did you mean serve? Commands: serve, status, routes, doctor, sink, store, cluster, version, help."
    assert_includes refuse(__FILE__), "Did you mean elah serve #{__FILE__}?"
    assert_includes refuse("help", "srve"), "Did you mean serve?"
    assert_includes refuse("run"), "Unknown command run. Did you mean elah serve [FILE]?"
    assert_includes refuse("server"), "Did you mean elah serve [FILE]?"
  end

  def test_help_of_serve_tells_every_option_with_its_default_and_range
    status, help, = elah("help", "serve")
    assert_equal 0, status
    Elah::Options.all.each do |option|
      assert_includes help.gsub("[no-]", ""), option.flag
      assert_includes help.gsub(/\s+/, " "), option.summary
      assert_includes help, "from #{option.range_text}" if option.range
    end
    assert_match(/default 16384 bytes/, help)
    assert_match(/flag overrides the environment/, help)
    assert_operator help.lines.map(&:chomp).map(&:size).max, :<=, 120
    assert_equal help, elah("serve", "--help")[1]
  end

  def test_help_is_what_no_command_gives
    assert_equal elah("help"), elah
    assert_equal elah("help"), elah("--help")
    %w[serve routes doctor version help].each { |command| assert_includes elah[1], "elah #{command}" }
    assert_includes elah("help", "routes")[1], "elah routes"
  end

  def test_sinks_and_servers_that_are_not_there_are_told_with_where
    Dir.mktmpdir do |folder|
      assert_equal [1, "", "elah: No sink in #{folder}/sinks: set --data to the data folder of the app.\n"],
                   elah("sink", "status", "--data", folder)
      assert_equal [1, "", "elah: The pid file #{folder}/pid cannot be read: No such file or directory. " \
                           "Set --pidfile to that of a running server.\n"],
                   elah("status", "--pidfile", "#{folder}/pid", "--run-dir", folder)
    end
  end

  # In a Debian package the library is on Ruby's load path, and not beside the command.
  def test_the_command_finds_the_library_on_the_load_path
    Dir.mktmpdir do |folder|
      FileUtils.cp(EXECUTABLE, folder)
      output, status = Open3.capture2e({ "RUBYLIB" => File.expand_path("../../lib", __dir__) },
                                       File.join(folder, "elah"), "version")
      assert_equal [true, "elah #{Elah::VERSION} "], [status.success?, output[/\Aelah \S+ /]], output
    end
  end

  def test_version
    assert_equal [0, "elah #{Elah::VERSION} (ruby #{RUBY_VERSION}, #{RUBY_PLATFORM})\n", ""], elah("version")
    assert_equal elah("version"), elah("--version")
  end

  def test_routes_are_listed_for_an_app_that_tells_them
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.write(path, <<~RUBY)
        route = Struct.new(:request_method, :path, :description)
        app = ->(env) {}
        routes = [route.new("GET", "/links/:code", "One link"), route.new("DELETE", "/", nil)]
        app.define_singleton_method(:routes) { routes }
        run app
      RUBY
      assert_equal [0, "GET     /links/:code  One link\nDELETE  /\n", ""], elah("routes", path)
      File.write(path, "run ->(env) {}")
      status, _, err = elah("routes", path)
      assert_equal 1, status
      assert_includes err, "Cannot list the routes of a Proc: it has no `routes`"
    end
  end

  # A config.ru seldom runs an API itself: middleware, `map` and what Rack has to put apps together stand around it.
  def test_routes_are_found_within_what_wraps_an_api
    Dir.mktmpdir do |folder|
      path = File.join(folder, "config.ru")
      File.write(path, <<~RUBY)
        api = ->(name) { Class.new(Elah::API) { get(name) { 1 } } }
        use Rack::Head
        map("/deep") do
          use Rack::Runtime
          map("/er") { run api["a"] }
          run Rack::Builder.new { use Rack::ETag; run api["b"] }
        end
        map("/plain") { run ->(env) { [200, {}, []] } }
        map("http://example.org/named") { run Rack::URLMap.new("/x" => api["c"], "/" => ->(env) { [200, {}, []] }) }
        run Rack::Cascade.new([->(env) { [404, {}, []] }, Rack::ShowExceptions.new(api["d"])])
      RUBY
      status, out, err = elah("routes", path)
      assert_equal [0, ""], [status, err]
      assert_equal %w[//example.org/named/x/c(.:format) /d(.:format) /deep/b(.:format) /deep/er/a(.:format)],
                   out.lines.map { |line| line.split[1] }.sort
    end
  end

  def test_routes_have_the_versions_of_their_paths
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.write(path, <<~RUBY)
        old = Class.new(Elah::API) { version("v1", "v2"); get(:a) { 1 } }
        new = Class.new(Elah::API) { version("v3"); get(:a) { 1 }; mount ->(env) {} => "/c" }
        named = Class.new(Elah::API) { version("v4", using: :header, vendor: "acme"); get(:b) { 1 } }
        run(Class.new(Elah::API) { [old, new, named].each { |api| mount api } })
      RUBY
      status, out, = elah("routes", path)
      assert_equal [0, %w[/v1|v2/a(.:format) /v3/a(.:format) /v3/c(/*path) /b(.:format)]],
                   [status, out.lines.map { |line| line.split[1] }]
    end
  end

  # A list of the routes of apps/links left an empty database behind, in whatever folder it was asked for.
  def test_a_list_of_routes_leaves_nothing_behind
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.write(path, <<~RUBY)
        Elah::Store.open(File.join(Elah.config.data, "links")).table("links").put("a", "1")
        run(Class.new(Elah::API) { get("/x") { 1 } })
      RUBY
      out, status = Open3.capture2e(EXECUTABLE, "routes", path, "--data", File.join(folder, "data"), chdir: folder)
      assert_equal [0, "GET  /x(.:format)"], [status.exitstatus, out.lines.first.chomp]
      assert_equal %w[app.rb], Dir.children(folder)
    end
  end

  def test_the_executable_gives_fibers_the_stack_of_a_thread
    ENV.to_h.slice(*STACKS).each_key { |name| flunk "#{name} is set for the tests" }
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.write(path, <<~RUBY)
        def depth(levels) = (@levels = levels) && depth(levels + 1)
        def levels
          depth(1)
        rescue SystemStackError
          @levels
        end
        main = levels
        fiber = Fiber.new { levels }.resume
        abort "main \#{main}, fiber \#{fiber}" unless fiber > main * 0.9
        puts ENV.values_at(*#{STACKS}).join(" ")
        exit
      RUBY
      out, status = Open3.capture2e(EXECUTABLE, "serve", path)
      assert_equal ["1048576 1048576 2\n", 0], [out, status.exitstatus]
    end
  end

  def test_the_executable_leaves_what_the_user_set
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.write(path, "puts ENV.values_at(*#{STACKS}).join(' ')\nexit")
      out, = Open3.capture2e({ "MALLOC_ARENA_MAX" => "7" }, EXECUTABLE, "serve", path)
      assert_equal "1048576 1048576 7\n", out
    end
  end

  def test_the_executable_exits_with_the_status_of_the_command
    out, status = Open3.capture2e(EXECUTABLE, "serve", "--nothing")
    assert_includes out, "elah: Unknown flag --nothing."
    assert_equal 2, status.exitstatus
    out, status = Open3.capture2e(EXECUTABLE, "serve", "/nowhere/app.rb")
    assert_equal ["elah: App file /nowhere/app.rb does not exist.\n", 1], [out, status.exitstatus]
  end

  # Ruby itself escapes the message of what nobody has rescued.
  def test_an_error_of_the_app_is_printed_as_it_is
    sources = { 'run("a\n" ]' => /\ASyntaxError: \S+app\.rb:1.*run\("a\\n" \]\n/m,
                'raise "a\\\\b"' => /app\.rb:1:in .*: a\\b \(RuntimeError\)/ }
    sources.each do |source, printed|
      Dir.mktmpdir do |folder|
        path = File.join(folder, "app.rb")
        File.write(path, source)
        output, status = Open3.capture2e(EXECUTABLE, "serve", path, chdir: folder)
        assert_match(printed, output)
        assert_equal 1, status.exitstatus
      end
    end
  end

  # A checkout in which bin/setup has not been run answered every command with forty lines of Ruby's.
  def test_without_the_native_extension_it_says_in_a_line_what_to_run
    Dir.mktmpdir do |folder|
      root = File.expand_path("../..", __dir__)
      ["exe/elah", *Dir.chdir(root) { Dir["lib/**/*.rb"] }].each do |name|
        FileUtils.mkdir_p(File.dirname(File.join(folder, name)))
        FileUtils.cp(File.join(root, name), File.join(folder, name))
      end
      out, status = Open3.capture2e({ "RUBYLIB" => nil }, File.join(folder, "exe/elah"), "serve")
      assert_equal 1, status.exitstatus
      reason = "Elah's native extension is not built for Ruby #{RUBY_VERSION}"
      assert_match(/\Aelah: #{reason}. In a checkout run bin\/setup[^\n]*\n\z/, out)
    end
  end

  def test_the_executable_tells_the_app_its_environment
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.write(path, "puts ENV['RACK_ENV'], Elah.config.environment, Elah.settings['x_y']\nexit")
      out, = Open3.capture2e(EXECUTABLE, "serve", path, "-e", "staging", "--set", "x_y=1")
      assert_equal %w[staging staging 1], out.split
    end
  end
end

# frozen_string_literal: true

# Where the values of the options come from, and which source wins.
require "test_helper"
require "open3"
require "tmpdir"

class ConfigTest < Minitest::Test
  def load(file: nil, **arguments)
    Dir.mktmpdir do |folder|
      Dir.chdir(folder) do
        if file
          Dir.mkdir("config")
          File.write("config/elah.rb", file)
        end
        return Elah::Config.load(env: {}, **arguments)
      end
    end
  end

  def refuse(**arguments) = assert_raises(Elah::OptionError) { load(**arguments) }.message

  def test_every_option_is_answered_by_name_with_its_default
    config = load
    Elah::Options.all.each do |option|
      next if option.name == :data

      expected = option.default
      found = config.public_send(option.name)
      expected.nil? ? assert_nil(found) : assert_equal(expected, found)
    end
    assert_equal false, config.log_requests?
    assert_predicate config, :frozen?
  end

  def test_limits_are_the_rows_marked_so
    limits = load(flags: { queue_max: "7" }).limits
    assert_equal 7, limits[:queue_max]
    assert_equal Elah::Options.all.select(&:limit).map(&:name), limits.keys
    assert(limits.values.all? { |value| value.is_a?(Numeric) })
    assert_predicate limits, :frozen?
  end

  def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default
    assert_equal 1024, load.queue_max
    assert_equal 1, load(file: "queue_max 1").queue_max
    assert_equal 2, load(file: "queue_max 1", env: { "ELAH_QUEUE_MAX" => "2" }).queue_max
    assert_equal 3, load(file: "queue_max 1", env: { "ELAH_QUEUE_MAX" => "2" }, flags: { queue_max: "3" }).queue_max
  end

  # JSON was Elah::JSON in a config file and its hooks, Redis was Elah::Redis, Task was Elah::Task: not the app's.
  def test_constants_are_looked_up_at_the_top_level
    config = load(file: <<~'RUBY')
      require "json"
      names = (Elah.constants + Elah::Config.constants).select { |name| eval("defined?(#{name})") }
      set :shadowed, names.reject { |name| Object.const_defined?(name) && eval("#{name}.equal?(::#{name})") }
      before_worker_boot { $config_test_calls << JSON.dump("text") }
    RUBY
    assert_empty config.settings["shadowed"]
    $config_test_calls = []
    config.run_hooks(:before_worker_boot)
    assert_equal ['"text"'], $config_test_calls
  end

  # `set` had no effect then, and an app without its key was open to all.
  def test_methods_and_constants_of_a_file_do_not_take_the_place_of_elahs
    config = load(file: <<~'RUBY')
      def settings = { "other" => 1 }
      def values = nil
      def hooks = nil
      def warnings = nil
      def one(_count) = 1
      def place = nil
      module Options; end
      class OptionError < StandardError; end
      set :key, "secret"
      workers 3
      port = 3
    RUBY
    assert_equal ["secret", 3], [config.settings["key"], config.workers]
    assert_match(/assigns a variable `port`/, config.warnings.first)
  ensure
    names = %i[Options OptionError].select { |name| Elah::Config::Dsl.const_defined?(name, false) }
    names.each { |name| Elah::Config::Dsl.send(:remove_const, name) }
  end

  def test_a_file_has_its_place_variables_methods_and_constants
    config = load(file: <<~'RUBY')
      FACTOR = 3
      class Times
        def by(count) = FACTOR * count
      end
      number = 4
      def five = 5
      def six = set(:six, 6)
      six
      [FACTOR, number].each do |count|
        set "line#{count}", __LINE__
      end
      File.write(File.join(__dir__, "beside.rb"), "$config_test_calls = [7]")
      require_relative "beside"
      set :values, [Times.new.by(number), five, Elah::OptionError.name, File.basename(__dir__), File.basename(__FILE__)]
    RUBY
    assert_equal [12, 5, "Elah::OptionError", "config", "elah.rb"], config.settings["values"]
    assert_equal [10, 10, 6, [7]], [*%w[line3 line4 six].map { |name| config.settings[name] }, $config_test_calls]
  end

  # It was read again and again, until the stack was full.
  def test_a_file_that_needs_the_configuration_is_refused
    script = 'require "elah"; Elah.config'
    Dir.mktmpdir do |folder|
      Dir.mkdir(File.join(folder, "config"))
      File.write(File.join(folder, "config/elah.rb"), 'Elah::Store.open("data")')
      out, = Open3.capture2e(RbConfig.ruby, "-I#{File.expand_path('../../lib', __dir__)}", "-e", script, chdir: folder)
      assert_match(%r{config/elah.rb uses Elah.config while it is read: open stores and sinks in the app}, out)
    end
  end

  def test_usual_variables_are_read_and_elahs_own_name_beats_them
    env = { "PORT" => "3000", "RACK_ENV" => "production", "PIDFILE" => "/run/a.pid", "WEB_CONCURRENCY" => "1",
            "ELAH_DATA" => "/srv/data" }
    config = load(env: env)
    assert_equal [3000, "production", "/run/a.pid", 1, "/srv/data"],
                 [config.port, config.environment, config.pidfile, config.workers, config.data]
    assert_equal "staging", load(env: { "RACK_ENV" => "production", "ELAH_ENVIRONMENT" => "staging" }).environment
    assert_nil load(env: { "PIDFILE" => "" }).pidfile
  end

  def test_under_another_server_only_elahs_own_names_count
    config = load(env: { "PORT" => "3000", "WEB_CONCURRENCY" => "8", "ELAH_QUEUE_MAX" => "5" },
                  shares_environment: true)
    assert_equal [nil, 1, 5], [config.port, config.workers, config.queue_max]
  end

  def test_a_port_is_an_address_of_its_layer
    assert_equal ["tcp://127.0.0.1:9292"], load.bind.map(&:to_s)
    assert_equal ["tcp://0.0.0.0:3000"],
                 load(env: { "PORT" => "3000" }, file: %(bind "tcp://127.0.0.1:1")).bind.map(&:to_s)
    assert_equal ["tcp://127.0.0.1:4"],
                 load(env: { "PORT" => "3000" }, flags: { bind: ["tcp://127.0.0.1:4"] }).bind.map(&:to_s)
    both = load(file: %(port 5\nbind "tcp://[::1]:6"\nbind "unix:///tmp/x.sock"))
    assert_equal %w[tcp://[::1]:6 unix:///tmp/x.sock tcp://0.0.0.0:5], both.bind.map(&:to_s)
    assert_equal %w[tcp://a:1 unix:///b], load(env: { "ELAH_BIND" => "tcp://a:1, unix:///b" }).bind.map(&:to_s)
  end

  def test_wrong_values_name_their_source
    assert_includes refuse(env: { "PORT" => "http" }), "environment variable PORT"
    assert_includes refuse(flags: { queue_max: "x" }), "flag --queue-max"
    assert_match(%r{config/elah\.rb:2}, refuse(file: "port 1\nqueue_max 'x'"))
  end

  def test_an_unknown_word_of_the_file_is_answered_with_its_line_the_nearest_and_the_hooks
    message = refuse(file: "port 1\n\nwokers 2")
    assert_includes message, "config/elah.rb:3"
    assert_includes message, "Did you mean workers?"
    message = refuse(file: "preload_app!")
    assert_includes message, "before_worker_boot"
    refute_match(/\bconfig[,.](?!\w|rb)/, message)
  end

  # Ruby reads it as a variable.
  def test_an_option_of_the_file_that_is_assigned_is_told_with_its_line
    config = load(file: <<~RUBY)
      workers 1

      port = 3000
      data ||= "/srv"
      queue_max = 5
      queue_max queue_max
      other = 1
      set :a, other
    RUBY
    told = config.warnings.grep(/assigns/)
    assert_equal 2, told.size
    assert_match(%r{config/elah\.rb:3 assigns a variable `port`, which sets no option: write `port VALUE`}, told[0])
    assert_match(%r{config/elah\.rb:4 assigns a variable `data`}, told[1])
    assert_equal [nil, 5], [config.port, config.queue_max]
  end

  def test_a_word_of_the_file_without_its_value_is_answered_with_its_line
    { "bind" => "bind needs one value, and has none",
      "bind 'tcp://127.0.0.1:1', 'tcp://127.0.0.1:2'" => "bind needs one value, and has 2",
      "port" => "port needs one value, and has none", "set" => "set needs a name and a value",
      "set :a" => "set needs a name and a value" }.each do |line, message|
      answer = refuse(file: "workers 1\n#{line}")
      assert_includes answer, message
      assert_match(%r{config/elah\.rb:2}, answer)
    end
  end

  def test_a_file_is_read_by_its_name_and_must_exist_then
    Dir.mktmpdir do |folder|
      path = File.join(folder, "mine.rb")
      File.write(path, "queue_max 9")
      assert_equal 9, load(flags: { config: path }).queue_max
      assert_equal 9, load(env: { "ELAH_CONFIG" => path }).queue_max
      assert_includes refuse(flags: { config: "#{path}x" }), "#{path}x"
    end
  end

  def test_an_error_of_the_files_own_code_keeps_its_class
    assert_raises(ZeroDivisionError) { load(file: "1 / 0") }
  end

  def test_hooks_run_in_their_order
    $config_test_calls = []
    config = load(file: "before_worker_boot { $config_test_calls << 1 }\n" \
                        "before_worker_boot { $config_test_calls << 2 }")
    config.run_hooks(:before_worker_boot)
    config.run_hooks(:before_worker_shutdown)
    assert_equal [1, 2], $config_test_calls
    assert_raises(KeyError) { config.run_hooks(:before_lunch) }
    assert_includes refuse(file: "before_worker_boot"), "needs a block"
  end

  def test_settings_for_which_nobody_asks_are_told
    settings = load(settings: { "links_api_kye" => "flag", "other" => "flag" }, env: { "LINKS_HOSTS" => "a" }).settings
    settings["links_api_key"]
    settings.fetch("other")
    assert_equal ["The app has not read the setting links_api_kye. Did you mean links_api_key?"], settings.warnings
  end

  def test_variables_that_no_option_has_are_told
    settings = load(env: { "ELAH_WORKRES" => "4", "ELAH_WORKERS" => "4", "ELAH_GREETING" => "hello",
                           "ELAH_FOO" => "1", "LINKS_HOSTS" => "a" }).settings
    settings["elah_greeting"]
    assert_equal ["No option reads the environment variable ELAH_WORKRES. Did you mean ELAH_WORKERS?",
                  "No option reads the environment variable ELAH_FOO."], settings.warnings
  end

  def test_a_config_file_that_is_no_ruby_is_told_with_its_line
    assert_match(/\A\S+:1: syntax error/, refuse(file: "workers 2 +"))
  end

  def test_settings_come_from_flags_the_environment_and_the_file
    file = %(set :links_api_key, "file"\nset "links_sizes", [1, 2])
    settings = load(file: file).settings
    assert_equal ["file", [1, 2], nil], [settings["links_api_key"], settings[:links_sizes], settings["other"]]
    assert_equal "env", load(file: file, env: { "LINKS_API_KEY" => "env" }).settings["links_api_key"]
    flagged = load(file: file, env: { "LINKS_API_KEY" => "env" }, settings: { "links_api_key" => "flag" }).settings
    assert_equal "flag", flagged["links_api_key"]
    assert flagged.key?(:links_sizes)
    refute flagged.key?(:other)
    refute_includes flagged.inspect, "flag"
  end

  # A `@settings` of the file took the place of what `set` had set, and its `@values` that of the options.
  def test_the_file_may_have_any_instance_variables
    own = %w[settings values hooks warnings options config name].map { |name| "@#{name} = " }.join
    file = "set :links_api_key, 'file'\nworkers 3\n#{own}{ 'other' => 'of the app' }\nqueue_max 9"
    config = load(file: file)
    assert_equal ["file", nil], [config.settings["links_api_key"], config.settings["other"]]
    assert_equal [3, 9], [config.workers, config.queue_max]
  end

  # It was as if it were not set, so an API key from a variable without a value protected nothing.
  def test_an_empty_variable_is_the_value_of_a_setting
    settings = load(file: 'set :links_api_key, "file"', env: { "LINKS_API_KEY" => "" }).settings
    assert_equal ["", true], [settings["links_api_key"], settings.key?("links_api_key")]
  end

  def test_a_missing_setting_says_how_to_give_it
    settings = load.settings
    assert_equal 4, settings.fetch(:links_size, 4)
    message = assert_raises(Elah::OptionError) { settings.fetch(:links_size) }.message
    ["--set links_size=VALUE", "LINKS_SIZE", "set :links_size, VALUE"].each { |way| assert_includes message, way }
  end

  def test_a_setting_is_checked_by_what_the_app_expects
    flags = { "shop_days" => "12", "shop_hosts" => "a.example, b.example" }
    settings = load(settings: flags, file: %(set :shop_mode, "fast")).settings
    assert_equal 12, settings.integer(:shop_days, 30, 1..365)
    assert_equal 30, settings.integer(:shop_hours, 30, 1..365)
    assert_equal "fast", settings.choice(:shop_mode, %w[safe fast])
    assert_equal "safe", settings.choice(:shop_other, %w[safe fast])
    assert_equal %w[a.example b.example], settings.list(:shop_hosts)
    assert_empty settings.list(:shop_names)
  end

  def test_a_wrong_setting_is_named_with_its_valid_values
    settings = load(settings: { "shop_days" => "0", "shop_hours" => "1.5", "shop_mode" => "slow" }).settings
    expected = "shop_days must be a whole number from 1 to 365, not 0."
    assert_equal expected, assert_raises(Elah::OptionError) { settings.integer(:shop_days, 30, 1..365) }.message
    assert_raises(Elah::OptionError) { settings.integer(:shop_hours, 30, 1..365) }
    expected = "shop_mode must be safe or fast, not slow."
    assert_equal expected, assert_raises(Elah::OptionError) { settings.choice(:shop_mode, %w[safe fast]) }.message
  end

  def test_the_state_is_in_the_data_folder_or_on_the_cluster
    config = load(flags: { data: "/srv/data" })
    assert_equal "/srv/data", config.state
    assert_equal "/srv/data/orders", config.state("orders")
    config = load(file: 'cluster "postgres://app:secret@db1/shop"')
    assert_equal "postgres://app:secret@db1/shop", config.state
    assert_equal "postgres://app:secret@db1/shop", config.state("orders")
    assert_equal "postgres://app:secret@db1/shop", config.state("orders")
    error = assert_raises(Elah::OptionError) { config.state("users") }
    assert_match(/keeps its state "orders". It has no place for "users"/, error.message)
    refute_includes config.inspect, "secret"
    flags = { data: "/srv/data", cluster: "postgres://db1/shop" }
    assert_equal "/srv/data", load(flags: flags, without: [:cluster]).state
  end

  # It was the name of a folder in the working directory, and each machine had one of its own.
  def test_a_cluster_is_the_url_of_a_postgresql_database
    assert_equal "postgresql://db1/shop", load(flags: { cluster: "postgresql://db1/shop" }).state
    ["app:secret@db1/shop", "db1", "postgres:/app:secret@db1/shop", "mysql://app:secret@db1/shop",
     "postgres://"].each do |wrong|
      message = assert_raises(Elah::OptionError) { load(env: { "ELAH_CLUSTER" => wrong }) }.message
      assert_equal "cluster must be postgres://USER:PASSWORD@HOST1:PORT1,HOST2:PORT2/DATABASE, not what was given " \
                   "(environment variable ELAH_CLUSTER).", message
    end
  end

  def test_an_app_that_does_not_read_where_its_state_is_refuses_a_cluster
    config = load(env: { "ELAH_CLUSTER" => "postgres://app:secret@db1/shop" })
    message = assert_raises(Elah::OptionError) { config.check_store! }.message
    assert_match(/does not support the option cluster.* remove --cluster, ELAH_CLUSTER, or `cluster`/, message)
    refute_includes message, "secret"
    config.state
    config.check_store!
    load.check_store!
  end

  def test_build_takes_values_over_the_defaults
    config = Elah::Config.build(request_seconds: 1, bind: "tcp://127.0.0.1:0")
    assert_in_delta 1.0, config.request_seconds
    assert_equal 0, config.bind.first.port
    assert_raises(Elah::OptionError) { Elah::Config.build(request_second: 1) }
  end
end

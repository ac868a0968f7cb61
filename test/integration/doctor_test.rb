# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "json"
require "open3"
require "tmpdir"
require "support/elah_server"
require "support/gems"

# What `elah doctor` finds in real apps, and how it says so.
class DoctorTest < Minitest::Test
  EXECUTABLE = ElahServer::EXECUTABLE
  APPS = File.expand_path("../support/apps", __dir__)
  RAILS = File.join(APPS, "rails_api/config.ru")
  HELLO = 'require "elah/api"; run(Class.new(Elah::API) { get(:x) { "hello" } })'
  Result = Struct.new(:status, :out, :err) do
    def warnings = out.lines.grep(/\Awarning/)
    def about(check) = out.lines(chomp: true).grep(/\A\w+ +#{check} /)
  end

  def setup = @folder = Dir.mktmpdir
  def teardown = FileUtils.remove_entry(@folder)

  def doctor(*argv, env: {}, **options)
    out, err, status = Open3.capture3(env, EXECUTABLE, "doctor", *argv, chdir: @folder, **options)
    Result.new(status.exitstatus, out, err)
  end

  def write(name, text)
    path = File.join(@folder, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
    path
  end

  def app(text, name = "app.rb") = write(name, text)

  def test_nothing_is_wrong_with_a_small_api
    app(HELLO)
    result = doctor
    assert_equal ["", 0, []], [result.err, result.status, result.warnings]
    assert_match(/\Aok       ruby         Ruby #{Regexp.escape(RUBY_VERSION)} on /, result.out)
    %w[ruby yjit clients descriptors data].each { |check| assert_equal 1, result.about(check).size, result.out }
    refute_path_exists File.join(@folder, "data")
  end

  def test_every_finding_is_a_line_with_a_remedy_and_a_page
    app("#{HELLO}\nThread.current.thread_variable_set(:tenant, 1)")
    result = doctor("--no-adapters")
    assert_equal [1, "elah: Warnings: 1 of #{result.out.lines.size} findings.\n"], [result.status, result.err]
    assert_equal "warning  state        The app keeps state in a variable of the thread, which all requests share " \
                 "(#{@folder}/app.rb:2). Use Thread.current[:name], which belongs to the request. " \
                 "See docs/databases.md#state-of-a-request\n", result.warnings.first
  end

  # A page that has moved helps nobody.
  def test_the_pages_exist_with_their_headings
    root = File.expand_path("../..", __dir__)
    source = Dir[File.join(root, "lib/elah/cli/doctor/*.rb")].map { |file| File.read(file) }.join
    pages = source.scan(%r{"((?:docs/\w+|README)\.md[^"]*)"}).flatten
    assert_operator pages.size, :>, 5
    pages.each do |page|
      path, anchor = page.split("#")
      headings = File.readlines(File.join(root, path)).grep(/\A#+ /)
      anchors = headings.map { |heading| heading.sub(/\A#+ /, "").strip.downcase.gsub(/[^\w\- ]/, "").tr(" ", "-") }
      assert_includes anchors, anchor, page if anchor
    end
  end

  def test_json_for_programs
    app("#{HELLO}\nThread.current.thread_variable_set(:tenant, 1)")
    result = doctor("--json")
    report = JSON.parse(result.out)
    assert_equal [1, false, RUBY_VERSION, Elah::VERSION], [result.status, *report.values_at("ok", "ruby", "elah")]
    state = report["findings"].find { |finding| finding["check"] == "state" }
    assert_equal %w[level check message remedy page], state.keys
    assert_equal "warning", state["level"]
    app(HELLO)
    assert_equal true, JSON.parse(doctor("--json").out)["ok"]
  end

  def test_what_the_app_prints_is_kept_apart
    app("puts 'loading'\n#{HELLO}")
    result = doctor("--json")
    assert_equal [true, "loading\n"], [JSON.parse(result.out)["ok"], result.err]
  end

  def test_a_rails_app
    Gems.missing("railties")&.then { |reason| skip reason }
    url = "postgresql://localhost/nowhere?pool="
    result = doctor(RAILS, env: { "DATABASE_URL" => "#{url}5" })
    assert_equal 1, result.status, result.err
    assert_equal %w[rack rails], %w[rack rails].select { |check| result.about(check).one? }
    assert_match(/\Awarning .*The pool primary has 5 connections .* up to 16384 requests at once\. Set `pool`/,
                 result.about("records").first)
    assert(result.about("gem").any? { |line| line.match?(/\Aok .*activerecord [.\d]+: has an adapter/) })
    result = doctor(RAILS, env: { "DATABASE_URL" => "#{url}20" })
    assert_equal [0, "", []], [result.status, result.err, result.warnings]
  end

  # From 7.0 on. Without its adapter all requests share what Rails keeps for one.
  def test_without_adapters_their_gems_are_warned_of
    Gems.missing("railties")&.then { |reason| skip reason }
    env = { "DATABASE_URL" => "postgresql://localhost/nowhere?pool=20" }
    result = doctor("--no-adapters", RAILS, env: env)
    assert_equal 1, result.status
    assert_match(/activerecord [.\d]+ needs its adapter, and the adapters are off/, result.warnings.join)
    return if version("activesupport") < Gem::Version.new("7.0")

    assert_match(/\Awarning .*isolation_level is :thread/, result.about("isolation").first)
  end

  def test_a_gate_is_measured_by_the_pool
    Gems.missing("sqlite3")&.then { |reason| skip reason }
    app(<<~RUBY)
      require "rubygems"
      require "active_record"
      require "elah/api"
      ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: "x.db", pool: 12)
      run(Class.new(Elah::API) { behind(max: 25); get(:x) { "hello" } })
    RUBY
    assert_match(/`behind` admits 25 requests at once, and the largest pool has 12 connections\. Set its max: to .* 24/,
                 doctor.warnings.first)
  end

  def test_a_rack_app
    result = doctor(File.join(APPS, "rack_responses.ru"))
    assert_equal [0, []], [result.status, result.warnings]
    assert_equal 1, result.about("rack").size
  end

  def test_a_gem_that_needs_care_is_named_by_its_version
    gem("curb-1.0.5", "curb.rb", "module Curl; end")
    gem("concurrent-ruby-1.1.6", "concurrent.rb", "module Concurrent; end")
    gem("shared_state-0.1.0", "shared_state.rb", "def keep = Thread.current.thread_variable_set(:a, 1)")
    app("#{HELLO}\nrequire 'curb'; require 'concurrent'; require 'shared_state'")
    gems = doctor(env: { "RUBYLIB" => Dir["#{@folder}/gems/*/lib"].join(":") })
    assert_equal 1, gems.status
    assert_equal 1, gems.warnings.size
    assert_includes gems.warnings.first, "curb 1.0.5: libcurl waits in C, which holds the loop. Use Net::HTTP"
    assert(gems.about("gem").any? { |line| line.match?(/\Anote .*concurrent-ruby 1\.1\.6: its reentrant locks/) })
    assert_match(/\Anote .*shared_state 0\.1\.0 keeps state .*shared_state\.rb:1\)/, gems.about("state").first)
  end

  def test_a_version_without_the_fault_is_not_named
    gem("concurrent-ruby-1.3.5", "concurrent.rb", "module Concurrent; end")
    app("#{HELLO}\nrequire 'concurrent'")
    assert_empty doctor(env: { "RUBYLIB" => "#{@folder}/gems/concurrent-ruby-1.3.5/lib" }).about("gem")
  end

  # In the locale C, Ruby reads paths as ASCII.
  def test_paths_that_are_not_ascii
    gem("shared_\u00FC-0.1.0", "shared.rb", "def keep = Thread.current.thread_variable_set(:a, 1)")
    path = write("\u00FC/broken.rb", "require_relative 'own'\n")
    write("\u00FC/own.rb", "require 'shared'\n$LOADED_FEATURES << \"/nowhere/\\xFF.rb\"\nraise 'broken'\n")
    env = { "LC_ALL" => "C", "RUBYLIB" => Dir["#{@folder}/gems/*/lib"].join(":") }
    findings = JSON.parse(doctor("--json", path, env: env).out)["findings"]
    assert_match(%r{correct .*\u00FC/own\.rb:3; }, findings.find { |finding| finding["check"] == "app" }["remedy"])
    assert_match(/The gem shared_\u00FC 0\.1\.0 keeps/,
                 findings.find { |finding| finding["check"] == "state" }["message"])
  end

  def test_an_app_that_changes_its_folder
    app("Dir.chdir('/')\n#{HELLO}")
    assert_equal [0, ""], doctor("app.rb").to_a.values_at(0, 2)
  end

  def test_an_app_without_an_end_of_its_recursion
    app("def deeper = deeper\ndeeper\n")
    assert_includes doctor.warnings.first, "The app cannot be loaded: SystemStackError: stack level too deep"
  end

  # The other checks are made.
  def test_a_check_that_the_app_breaks_is_a_finding
    app(<<~RUBY)
      #{HELLO}
      module ActiveRecord
        class Base
          def self.connection_handler = raise(NoMemoryError, "failed to allocate\nmemory")
        end
      end
      module Rails
        def self.version = nil
        def self.application = raise("no application")
      end
    RUBY
    result = doctor
    assert_equal ["elah: Warnings: 2 of #{result.out.lines.size} findings.\n", 1], [result.err, result.status]
    { "records" => "NoMemoryError: failed to allocate. Look at #{@folder}/app.rb:4",
      "hosts" => "RuntimeError: no application. Look at #{@folder}/app.rb:10" }.each do |check, fault|
      assert_equal ["warning  #{check.ljust(12)} This check failed: #{fault}"], result.about(check)
    end
    assert_match(/\Anote .* Rails does not name its version; Elah's tests ran with/, result.about("rails").first)
    assert_equal 1, result.about("data").size
  end

  def test_an_app_without_memory
    app("raise NoMemoryError, 'failed to allocate memory'")
    assert_includes doctor.warnings.first, "The app cannot be loaded: NoMemoryError: failed to allocate memory"
  end

  def test_too_few_descriptors
    app(HELLO)
    result = doctor("--connections-max", "200", rlimit_nofile: [200, 200])
    assert_equal 1, result.status
    assert_includes result.warnings.first,
                    "The hard limit of 200 file descriptors allows 136 connections, not connections_max (200). Raise it"
  end

  def test_a_data_folder_that_cannot_be_one
    app(HELLO)
    result = doctor("--data", "app.rb/data")
    assert_equal 1, result.status
    assert_includes result.warnings.first,
                    "The data folder #{@folder}/app.rb/data is not writable: #{@folder}/app.rb is not a folder"
  end

  def test_a_data_folder_that_a_server_uses
    app(HELLO)
    store = <<~RUBY
      require "elah/api"
      TABLE = Elah::Store.open(File.join(Elah.config.data, "shop")).table("items")
      run(Class.new(Elah::API) { get(:x) { TABLE.put("a", "1"); "kept" } })
    RUBY
    ElahServer.start(store) do |server|
      server.get("/x")
      result = doctor("--data", File.join(server.folder, "data"))
      assert_equal 1, result.status
      assert_match(/data is in use by process #{server.pid} \(.*\)\. Stop it/, result.warnings.first)
    end
  end

  # In development.
  def test_hosts_that_rails_refuses
    Gems.missing("railties")&.then { |reason| skip reason }
    app(<<~RUBY, "config.ru")
      require "#{APPS}/rails_api/config/application"
      Shop.config.hosts << "shop.example"
      require "#{APPS}/rails_api/config/environment"
      run Rails.application
    RUBY
    env = { "DATABASE_URL" => "postgresql://localhost/nowhere?pool=20" }
    assert_empty doctor(env: env).about("hosts")
    hosts = doctor("--bind", "tcp://0.0.0.0:80", env: env).about("hosts")
    assert_match(/\Anote .*Rails lets \d+ hosts through/, hosts.first)
  end

  def test_without_an_app
    result = doctor
    assert_equal [1, ""], [result.status, result.out]
    assert_match(/\Aelah: No app\.rb or config\.ru in /, result.err)
    missing = doctor("nix.rb")
    assert_equal [1, "elah: App file #{@folder}/nix.rb does not exist.\n"], [missing.status, missing.err]
    assert_equal 2, doctor("--jsn").status
  end

  # The app was loaded in development: other pools, other gems, and other code than the server runs.
  def test_the_app_is_loaded_in_the_environment_of_the_server
    app("warn ENV['RACK_ENV']\n#{HELLO}")
    write("config/elah.rb", "environment 'staging'")
    env = { "RACK_ENV" => nil }
    assert_equal "staging\n", doctor(env: env).err
    assert_equal "production\n", doctor("-e", "production", env: env).err
    assert_equal "staging\n", Open3.capture3(env, EXECUTABLE, "routes", chdir: @folder)[1]
  end

  # The rest is looked at all the same.
  def test_an_app_that_cannot_be_loaded
    { "raise 'boom'" => "RuntimeError: boom. Correct #{@folder}/app.rb:1;",
      "\nrequire 'no_such_gem'" => "LoadError: cannot load such file",
      "run(" => "SyntaxError:", "exit" => "SystemExit: exit" }.each do |text, reason|
      app(text)
      result = doctor
      assert_equal 1, result.status
      assert_match(/\Awarning  app          The app cannot be loaded: #{Regexp.escape(reason)}/, result.out)
      assert_equal 1, result.about("data").size
    end
  end

  private

  def gem(folder, file, text) = write("gems/#{folder}/lib/#{file}", text)

  def version(name) = Gem::Specification.stubs_for(name).first.version
end

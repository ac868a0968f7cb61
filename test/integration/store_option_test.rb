# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"

# Gives each app the URL of each kind of store: an app either asks for that store or does not start.
class StoreOptionTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  REDIS = %w[redis rediss redis+cluster rediss+cluster redis+unix].freeze
  SCHEMES = [*REDIS, "postgres", "postgresql", "mysql", "mongodb", "nats", "sqlite", "http"].freeze
  TAKEN = { "items" => %w[mongodb mysql postgres], "leaderboards" => REDIS,
            "links" => [*REDIS, "mongodb", "mysql", "postgres"], "ring_pools" => [], "stats" => [] }.freeze

  # Loads the app as `elah serve` does, once for each URL, and says which of them are refused. Nobody listens at these
  # addresses.
  SCRIPT = <<~RUBY
    require "elah"
    app, data, *schemes = ARGV
    schemes.each do |scheme|
      store = scheme == "redis+unix" ? "\#{scheme}:///nowhere.sock" : "\#{scheme}://me@127.0.0.1:1/0"
      config = Elah.config = Elah::Config.build(store: store, data: File.join(data, scheme))
      begin
        Elah.run { Elah::AppFile.load(app) }
        config.check_store!
        puts "\#{scheme} taken"
      rescue Elah::ClientMissing, Elah::Unavailable
        puts "\#{scheme} taken"
      rescue Elah::OptionError => e
        puts "\#{scheme} refused \#{e.message}"
      end
    end
  RUBY

  TAKEN.each do |app, taken|
    define_method(:"test_#{app}_refuses_a_store_that_it_does_not_use") do
      outcomes = load_with_each(app)
      assert_equal SCHEMES.to_h { |scheme| [scheme, taken.include?(scheme) ? "taken" : "refused"] },
                   outcomes.transform_values(&:first)
      (SCHEMES - taken).each { |scheme| assert_match(/\bstore\b/, outcomes[scheme].last) }
    end
  end

  def test_the_flag_and_the_variable_and_the_file_are_refused_before_anything_is_served_or_stored
    Dir.mktmpdir do |folder|
      File.write(app = File.join(folder, "app.rb"), "require 'elah'\nrun ->(_env) { [200, {}, []] }\n")
      File.write(file = File.join(folder, "elah.rb"), "store 'postgres://me:secret@127.0.0.1/shop'\n")
      url = "postgres://me:secret@127.0.0.1/shop"
      [[["--store", url], {}], [[], { "ELAH_STORE" => url }], [["--config", file], {}]].each do |flags, env|
        text, status = serve(app, *flags, "--data", File.join(folder, "data"), env: env)
        assert_equal 2, status.exitstatus, text
        assert_match(/does not support the option store, so it cannot keep its data in postgres: remove --store/, text)
        refute_match(/secret|listening/, text)
      end
      refute File.exist?(File.join(folder, "data"))
    end
  end

  def test_an_app_that_does_not_know_clusters_refuses_one_and_each_of_these_says_so
    ["", "Elah::Store.open(Elah.config.data)\n"].each do |source|
      Dir.mktmpdir do |folder|
        File.write(app = File.join(folder, "app.rb"), "require 'elah'\n#{source}run ->(_env) { [200, {}, []] }\n")
        text, status = serve(app, "--cluster", "postgres://me:secret@127.0.0.1:1/shop",
                             "--data", File.join(folder, "data"))
        assert_equal 2, status.exitstatus, text
        assert_match(/does not support the option cluster/, text)
        refute_match(/secret|listening/, text)
      end
    end
  end

  def test_an_app_that_keeps_its_data_elsewhere_refuses_a_cluster
    [["items"], ["items", "--store", "postgres://me:secret@127.0.0.1:1/items"],
     ["links", "--store", "redis://127.0.0.1:1/0"]].each do |app, *flags|
      Dir.mktmpdir do |folder|
        text, status = serve(File.join(ROOT, "apps", app, "app.rb"), *flags, "--data", File.join(folder, "data"),
                             "--cluster", "postgres://me:secret@127.0.0.1:1/shop")
        assert_equal 2, status.exitstatus, text
        assert_match(/does not support the option cluster/, text)
        refute_match(/secret|listening/, text)
      end
    end
  end

  def test_a_cluster_that_cannot_be_reached_ends_the_start_without_its_password
    Dir.mktmpdir do |folder|
      File.write(app = File.join(folder, "app.rb"), <<~RUBY)
        require "elah"
        STORE = Elah::Store.open(Elah.config.state("orders"))
        run ->(_env) { [200, {}, []] }
      RUBY
      text, status = serve(app, "--cluster", "postgres://me:secret@127.0.0.1:1/shop")
      refute_predicate status, :success?
      assert_match(%r{127\.0\.0\.1:1/shop cannot be reached}, text)
      refute_match(/secret|listening/, text)
      text, status = run_elah("routes", app, "--cluster", "postgres://me:secret@127.0.0.1:1/shop")
      assert_match(/Cannot list the routes/, text) # it was loaded, without the cluster
      refute_predicate status, :success?
      text, = run_elah("doctor", app, "--cluster", "postgres://me:secret@127.0.0.1:1/shop")
      refute_match(/cannot be loaded|secret/, text)
    end
  end

  def test_stats_names_the_option_that_is_meant
    Dir.mktmpdir do |data|
      text, status = serve("apps/stats/app.rb", "--store", "postgres://127.0.0.1/shop", "--data",
                           File.join(data, "data"))
      assert_equal 2, status.exitstatus, text
      assert_match(/--set stats_destination=URL/, text)
      refute File.exist?(File.join(data, "data"))
    end
  end

  private

  def load_with_each(app)
    Dir.mktmpdir do |data|
      text, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", SCRIPT, "apps/#{app}/app.rb", data, *SCHEMES,
                                     chdir: ROOT)
      assert_predicate status, :success?, text
      text.lines.grep(/\A\S+ (taken|refused)/).to_h do |line|
        scheme, outcome, message = line.chomp.split(" ", 3)
        [scheme, [outcome, message]]
      end
    end
  end

  def serve(*arguments, env: {}) = run_elah("serve", *arguments, "--bind", "tcp://127.0.0.1:0", env: env)

  def run_elah(*arguments, env: {})
    Open3.capture2e(env, RbConfig.ruby, "-Ilib", "exe/elah", *arguments, chdir: ROOT)
  end
end

# frozen_string_literal: true

# The command starts without RubyGems: an app that needs a gem gets it all the same.
require "test_helper"
require "fileutils"
require "support/elah_server"

class RubygemsOnDemandTest < Minitest::Test
  NAME = "elah_test_gem"

  def setup
    @home = Dir.mktmpdir("gems")
    install("1.0.0")
    install("2.0.0")
  end

  def teardown = FileUtils.remove_entry(@home)

  def test_an_app_that_needs_no_gem_runs_without_rubygems
    assert_equal "rubygems", answer('require "json"', 'Object.autoload?(:Gem) || "loaded"')
  end

  def test_a_library_that_only_a_gem_has_is_found
    assert_equal "2.0.0", answer("require \"#{NAME}\"", "ElahTestGem::VERSION")
    assert_equal "2.0.0", answer("", "require \"#{NAME}\"; ElahTestGem::VERSION")
  end

  def test_the_version_that_an_app_asks_for_is_taken
    assert_equal "1.0.0", answer("gem \"#{NAME}\", \"1.0.0\"\nrequire \"#{NAME}\"", "ElahTestGem::VERSION")
  end

  def test_rubygems_itself_can_be_named
    assert_equal "2.0.0", answer("", "Gem::Specification.find_by_name(\"#{NAME}\").version.to_s")
  end

  # RubyGems brings it, and libraries count on that: resolv, which net/http needs, in Ruby 3.4.5.
  def test_the_settings_of_ruby_are_there
    assert_equal RbConfig::CONFIG.fetch("ruby_version"),
                 answer('VERSION = RbConfig::CONFIG.fetch("ruby_version")', "VERSION")
  end

  def test_what_is_nowhere_is_missed_by_its_name
    log = assert_raises(ElahServer::Failure) { answer('require "elah_nowhere"', "1") }.message
    assert_includes log, "cannot load such file -- elah_nowhere (LoadError)"
  end

  def test_a_config_ru_has_rubygems_from_the_start
    app = 'loaded = $LOADED_FEATURES.map { |path| File.basename(path, ".rb") }; ' \
          'run ->(_) { [200, {}, [loaded.join(" ")]] }'
    loaded = ElahServer.start(app, extension: ".ru") { |server| server.get("/").body.split }
    assert_empty %w[rubygems did_you_mean error_highlight] - loaded
  end

  private

  def answer(head, expression)
    app = "#{head}\nclass App < Elah::API\n  get(\"/\") { #{expression} }\nend\nrun App\n"
    ElahServer.start(app, env: { "GEM_HOME" => @home }) { |server| server.get("/").body }
  end

  # What `gem install` leaves behind, of a gem with one file.
  def install(version)
    lib = File.join(@home, "gems", "#{NAME}-#{version}", "lib")
    FileUtils.mkdir_p([lib, File.join(@home, "specifications")])
    File.write(File.join(lib, "#{NAME}.rb"), "module ElahTestGem\n  VERSION = \"#{version}\"\nend\n")
    specification = Gem::Specification.new(NAME, version) do |spec|
      spec.summary = "A gem of the tests"
      spec.authors = ["Elah"]
    end
    File.write(File.join(@home, "specifications", "#{NAME}-#{version}.gemspec"), specification.to_ruby)
  end
end

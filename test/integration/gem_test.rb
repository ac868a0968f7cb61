# frozen_string_literal: true

# The gem: it holds all that its build needs, builds by its own extconf.rb, and its command and library work from there.
require "test_helper"
require "open3"
require "tmpdir"

class GemTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)

  def run_in(folder, env, *command)
    out, status = Open3.capture2e(env, *command, chdir: folder)
    assert_predicate status, :success?, out
    out
  end

  def test_it_is_built_installed_and_works
    Dir.mktmpdir do |folder|
      file = File.join(folder, "elah.gem")
      run_in(ROOT, {}, "gem", "build", "elah.gemspec", "--output", file)
      # The build shares the crates that this checkout has compiled already.
      run_in(folder, { "CARGO_TARGET_DIR" => File.join(ROOT, "target") },
             "gem", "install", "--local", "--ignore-dependencies", "--no-document", "--install-dir", "home", file,
             "--", "--with-mongo", "--with-parquet")
      env = { "GEM_HOME" => File.join(folder, "home"), "RUBYLIB" => nil }
      assert_equal "elah #{Elah::VERSION} (ruby #{RUBY_VERSION}, #{RUBY_PLATFORM})\n",
                   run_in(folder, env, "home/bin/elah", "version")
      loaded = run_in(folder, env, RbConfig.ruby, "-e",
                      'require "elah"; puts Elah::JSON.generate([1]), $LOADED_FEATURES.grep(/elah\.so/)')
      assert_equal ["[1]", File.realpath(folder)],
                   [loaded.lines.first.chomp, File.realpath(loaded.lines.last.chomp)[0, File.realpath(folder).size]]
      assert_empty Dir[File.join(folder, "home/**/target/*")], "the build's own files are gone"
    end
  end

  # Bundler hides the gems that come with Ruby and that no Gemfile names: from Ruby 3.4 on bigdecimal is one, from 4.0
  # on logger.
  def test_an_app_with_bundler_has_what_elah_requires
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "Gemfile"), "gem \"elah\", path: #{ROOT.dump}\n")
      uses = 'require "bundler/setup"; require "elah"; p Elah::SQL, Class.new(Elah::API).logger.class'
      assert_equal "Elah::SQL\nLogger\n", run_in(folder, { "RUBYLIB" => nil }, RbConfig.ruby, "-e", uses)
    end
  end
end

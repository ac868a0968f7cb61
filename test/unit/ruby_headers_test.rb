# frozen_string_literal: true

require "test_helper"
require "open3"
require "rubygems/package"
require "tmpdir"
require_relative "../../package/toolchain"
require_relative "../../package/ruby_headers"

# For which Rubies RubyGems takes a precompiled gem, since it takes the source gem for all others; and for which Ruby an
# extension is built.
class RubyHeadersTest < Minitest::Test
  REQUIREMENT = Gem::Requirement.new(Package::RubyHeaders.requirement)

  def taken?(version) = REQUIREMENT.satisfied_by?(Gem::Version.new(version))

  def test_its_rubies_are_taken
    taken, refused = %w[3.1.0 3.1.2 3.1.9 3.3.0 3.3.14 3.4.0 3.4.12].partition { |version| taken?(version) }
    assert_empty refused
    assert_equal Package::RubyHeaders::VERSIONS, taken.map { |version| version[/\d+\.\d+/] }.uniq
  end

  def test_rubies_that_are_too_old_or_too_new_or_between_them_are_not
    others = %w[2.7.8 3.0.7 3.2.0 3.2.9 3.2.15 3.5.0.dev 3.5.0.preview1 3.5.0 4.0.0]
    assert_empty(others.select { |version| taken?(version) })
  end

  # What docs/installing.md has a row for.
  def test_rubygems_refuses_the_file_there_and_says_why
    Dir.mktmpdir do |folder|
      spec = Gem::Specification.new("elah", "0.1.0") do |gem|
        gem.author = gem.summary = "Elah"
        gem.required_ruby_version = REQUIREMENT
      end
      silent = Gem::SilentUI.new
      Dir.chdir(folder) do
        Gem::DefaultUserInteraction.use_ui(silent) { Gem::Package.build(spec, true, false, "elah.gem") }
      end
      File.write("#{folder}/ruby_3_2.rb", 'def Gem.ruby_version = Gem::Version.new("3.2.4")')
      install = %w[-W0 -r./ruby_3_2 -S gem install --local --no-document --install-dir home elah.gem]
      out, status = Open3.capture2e(RbConfig.ruby, *install, chdir: folder)
      assert_equal 1, status.exitstatus
      assert_match(/elah-0\.1\.0 requires Ruby version >= 3\.1, .+\. The current ruby version is 3\.2\.4\.$/, out)
    end
  end

  # As in a checkout that was copied with its target folder: the extension was built for the Ruby that ran.
  def test_the_command_answers_for_its_ruby_where_the_folder_was_moved
    Dir.mktmpdir do |folder|
      settings = "#{folder}/9.8-amd64/usr/lib/x/ruby/9.8.0"
      FileUtils.mkdir_p(settings)
      File.write("#{settings}/rbconfig.rb", 'module RbConfig; CONFIG = { "ruby_version" => "9.8.0" }; end')
      File.write("#{folder}/9.8-amd64/ruby-of-9.8", "#!/bin/sh\nexec ruby -I/nowhere \"$@\"\n", perm: 0o755)
      ruby = Package::RubyHeaders.new("9.8", "amd64", folder: folder).ruby
      out, = Open3.capture2(ruby, "--disable=gems", "-rrbconfig", "-e", 'print RbConfig::CONFIG["ruby_version"]')
      assert_equal "9.8.0", out
    end
  end

  def test_settings_of_another_ruby_end_the_build
    Dir.mktmpdir do |folder|
      settings = "#{folder}/9.8-amd64/usr/lib/x/ruby/9.8.0"
      FileUtils.mkdir_p(settings)
      File.write("#{settings}/rbconfig.rb", 'module RbConfig; CONFIG = { "ruby_version" => "3.1.0" }; end')
      FileUtils.touch("#{folder}/9.8-amd64/ruby-of-9.8")
      headers = Package::RubyHeaders.new("9.8", "amd64", folder: folder)
      _, said = capture_io { refute_predicate assert_raises(SystemExit) { headers.ruby }, :success? }
      assert_includes said, "answers for Ruby 3.1.0: delete #{folder}/9.8-amd64 and run this again"
    end
  end
end

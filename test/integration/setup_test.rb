# frozen_string_literal: true

# `bin/setup` on a checkout that is set up, and on a machine that lacks something.
require "test_helper"
require "open3"
require "tmpdir"

class SetupTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  SETUP = File.join(ROOT, "bin/setup")
  COMMANDS = %w[sh ruby cc objcopy curl find sort xargs sha256sum sed grep ls head tail cat dirname id].freeze

  # What apt-get needs around it.
  APT_COMMANDS = %w[mktemp rm env].freeze

  # Runs it with these commands alone in the path; `scripts` are commands of the test's own.
  def setup_with(commands, scripts = {}, *arguments)
    Dir.mktmpdir do |folder|
      (commands - scripts.keys).each { |name| File.symlink(path_of(name), File.join(folder, name)) }
      scripts.each do |name, script|
        File.write(File.join(folder, name), "#!/bin/sh\n#{script}\n")
        File.chmod(0o755, File.join(folder, name))
      end
      out, status = Open3.capture2e({ "PATH" => folder, **(@gems || {}) }, SETUP, *arguments)
      [status.exitstatus, out]
    end
  end

  def path_of(command)
    ENV["PATH"].split(":").map { |folder| File.join(folder, command) }.find { |path| File.executable?(path) }
  end

  def test_without_a_change_it_says_and_builds_nothing_and_is_quick
    quickest = Array.new(3) do
      started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      assert_equal [0, ""], setup_with(COMMANDS, "cargo" => "echo cargo was called; exit 1")
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at
    end.min
    assert_operator quickest, :<, 10
  end

  def test_what_is_missing_is_named_with_its_reason
    status, out = setup_with(COMMANDS - ["curl"])
    assert_equal 1, status
    assert_includes out, "setup: missing curl: tries the apps\n"
    assert_equal 1, out.scan("setup: missing").size
    assert_includes out, "no apt-get"
  end

  def test_only_what_is_missing_is_installed
    apt = 'echo "$@" >&2; exit 1'
    status, out = setup_with(COMMANDS - ["curl"] + APT_COMMANDS, "apt-get" => apt, "id" => "echo 0")
    assert_equal 1, status
    assert_match(/^setup: apt-get install curl$/, out)
    assert_includes out, "update\nsetup: failed: apt-get update"
  end

  def test_who_is_not_root_needs_sudo
    status, out = setup_with(COMMANDS - %w[curl id], "apt-get" => "exit 1", "id" => "echo 1000")
    assert_equal 1, status
    assert_includes out, "run this as root, or install sudo: the packages curl are to be installed."
  end

  # Ruby brings minitest 5.15 itself, and Debian's package 5.17: what has the name is not yet what is needed.
  def test_a_library_of_another_version_is_missing
    with_only_gem("minitest", "5.15.0") do
      _, out = setup_with(COMMANDS, {}, "--tests")
      assert_match(/^setup: missing ruby-minitest: /, out)
    end
    with_only_gem("minitest", "5.17.0") do
      _, out = setup_with(COMMANDS, {}, "--tests")
      refute_match(/^setup: missing ruby-minitest: /, out)
    end
  end

  # Another gem may have a folder of the library's name, as railties has lib/minitest.
  def test_a_folder_of_the_name_is_not_the_library
    with_only_gem("railties", "6.1.0", file: "minitest/rails_plugin.rb") do
      _, out = setup_with(COMMANDS, {}, "--tests")
      assert_match(/^setup: missing ruby-minitest: /, out)
    end
  end

  # A gem of the user's stands before what a package brings: told once it is installed, and not found out by the tests.
  def test_what_is_still_missing_after_the_installation_is_told_with_what_stands_before_it
    with_only_gem("rack", "1.6.0") do
      status, out = setup_with(COMMANDS + APT_COMMANDS, "apt-get" => "exit 0", "id" => "echo 0")
      assert_equal 1, status
      loaded = /Ruby loads rack-1.6.0 from #{@gems["GEM_HOME"]}/
      assert_match(/^setup: ruby-rack is installed, and still missing is `ruby rack >= 2.2` \(.+\); #{loaded}$/, out)
      assert_match(/^setup: remove what stands before the packages, /, out)
    end
  end

  def test_headers_of_another_ruby_do_not_count
    ruby = %{case "$*" in *rubyhdrdir*) exit 1 ;; esac; exec #{RbConfig.ruby} "$@"}
    status, out = setup_with(COMMANDS, "ruby" => ruby)
    assert_equal 1, status
    assert_match(/^setup: missing ruby-dev: headers of this Ruby/, out)
  end

  # Cargo does not see that Ruby is another one: the extension would be built for the old one, and fail in the new one.
  def test_the_binding_is_built_anew_for_another_ruby
    ruby = %{case "$*" in *RUBY_*) echo 9.8.7; exit ;; esac; exec #{RbConfig.ruby} "$@"}
    _, out = setup_with(COMMANDS + %w[sleep], "ruby" => ruby, "cargo" => 'echo "cargo $*" >&2; [ "$1" = clean ]')
    assert_match(/^cargo clean .* rb-sys$.*^cargo build /m, out)
  end

  # In the block `setup_with` runs where Ruby knows this gem and no other.
  def with_only_gem(name, version, file: "#{name}.rb")
    Dir.mktmpdir do |home|
      path = File.join(home, "gems/#{name}-#{version}/lib", file)
      FileUtils.mkdir_p([File.dirname(path), File.join(home, "specifications")])
      File.write(path, "")
      specification = Gem::Specification.new(name, version)
      specification.summary = specification.author = name
      File.write(File.join(home, "specifications/#{name}-#{version}.gemspec"), specification.to_ruby)
      @gems = { "GEM_HOME" => home, "GEM_PATH" => home }
      yield
    end
  end

  def test_an_unknown_argument_is_refused
    assert_equal [1, "setup: unknown argument --fast; there are --clients, --tests, --machine and --packages.\n"],
                 setup_with(COMMANDS, {}, "--fast")
  end
end

# frozen_string_literal: true

# `bin/setup` on a checkout that is set up, and on a machine that lacks something.
require "test_helper"
require "open3"
require "tmpdir"

class SetupTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  SETUP = File.join(ROOT, "bin/setup")
  COMMANDS = %w[sh ruby cc curl find sort xargs sha256sum sed grep ls head cat dirname id].freeze

  # Runs it with these commands alone in the path; `scripts` are commands of the test's own.
  def setup_with(commands, scripts = {}, *arguments)
    Dir.mktmpdir do |folder|
      (commands - scripts.keys).each { |name| File.symlink(path_of(name), File.join(folder, name)) }
      scripts.each do |name, script|
        File.write(File.join(folder, name), "#!/bin/sh\n#{script}\n")
        File.chmod(0o755, File.join(folder, name))
      end
      out, status = Open3.capture2e({ "PATH" => folder }, SETUP, *arguments)
      [status.exitstatus, out]
    end
  end

  def path_of(command) = ENV["PATH"].split(":").map { |folder| File.join(folder, command) }.find { |path| File.executable?(path) }

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
    status, out = setup_with(COMMANDS - ["curl"] + %w[mktemp rm env], "apt-get" => apt, "id" => "echo 0")
    assert_equal 1, status
    assert_match(/^setup: apt-get install curl$/, out)
    assert_includes out, "update\nsetup: failed: apt-get update"
  end

  def test_who_is_not_root_needs_sudo
    status, out = setup_with(COMMANDS - %w[curl id], "apt-get" => "exit 1", "id" => "echo 1000")
    assert_equal 1, status
    assert_includes out, "run this as root, or install sudo: the packages curl are to be installed."
  end

  def test_an_unknown_argument_is_refused
    assert_equal [1, "setup: unknown argument --fast; there are --clients and --tests.\n"], setup_with(COMMANDS, {}, "--fast")
  end
end

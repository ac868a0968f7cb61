# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"
require "other_ruby"

# What is run on another Ruby; the run itself is the step `ruby-3.3`.
class OtherRubyTest < Minitest::Test
  def test_an_unknown_version_is_refused_with_those_that_can_be_had
    out, status = Open3.capture2e(RbConfig.ruby, "test/other_ruby.rb", "test", "2.7", chdir: OtherRuby::ROOT)
    assert_equal 1, status.exitstatus
    assert_equal "There is no Ruby 2.7 to be had; there are #{OtherRuby::RUBIES.keys.join(', ')}, " \
                 "and absolute paths of Ruby's source.\n", out
  end

  def test_a_folder_with_the_source_of_a_ruby_says_its_version
    Dir.mktmpdir do |folder|
      assert_nil RubySource.in(folder)
      FileUtils.mkdir_p(File.join(folder, "include/ruby"))
      File.write(File.join(folder, "include/ruby/version.h"), <<~C)
        #define RUBY_API_VERSION_MAJOR 9
        #define RUBY_API_VERSION_MINOR 10
        #define RUBY_API_VERSION_TEENY 0
      C
      File.write(File.join(folder, "version.h"), "#define RUBY_VERSION_TEENY 11\n")
      assert_equal "9.10.11", RubySource.in(folder).version
    end
  end

  # Debian's own, which has no YJIT, keeps its row in the README.
  def test_a_ruby_with_yjit_has_a_record_of_its_own
    assert_equal %w[9.10.json 9.10-yjit.json], [false, true].map { |yjit| RubyRecord.file_name("9.10.11", yjit) }
  end

  def test_what_is_run_exists
    files, steps = (OtherRuby::CHOSEN + RubyRecord::STEPS).partition { |word| word.include?("/") }
    assert_empty(files.reject { |file| File.file?(File.join(OtherRuby::ROOT, file)) })
    assert_empty steps - Open3.capture2(RbConfig.ruby, "test/gate.rb", "--list", chdir: OtherRuby::ROOT).first.split
  end

  # `bin/setup` has one table for all suites.
  def test_a_suite_has_its_own_packages
    bookworm, trixie = %w[bookworm trixie].map do |suite|
      Open3.capture2("bin/setup", "--packages", suite, chdir: OtherRuby::ROOT).first.split
    end
    assert_equal %w[libclang-common-14-dev libclang1-14 ruby-grape], bookworm - trixie
    assert_equal %w[libclang-common-19-dev libclang1-19 ruby-mustermann-grape ruby-rackup], trixie - bookworm
  end
end

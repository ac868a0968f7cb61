# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"

# A copy of a store's folder after its process was killed: which files have what was acknowledged.
class StoreCopyTest < Minitest::Test
  PROCESS = <<~RUBY
    require "elah"
    store = Elah::Store.open(ARGV.fetch(0), fold_seconds: 60)
    store.table("notes").put("a", "kept")
    views = store.counter("views", durability: :memory)
    1000.times { views.increment("a") }
    $stdout.puts "counted"
    $stdout.flush
    Process.kill(:KILL, Process.pid)
    sleep
  RUBY

  def setup
    @folder = Dir.mktmpdir("elah-store")
    @data = File.join(@folder, "data")
    lib = File.expand_path("../../lib", __dir__)
    output = IO.popen([RbConfig.ruby, "-EUTF-8", "-I#{lib}", "-e", PROCESS, @data], &:read)
    assert_equal "counted\n", output
  end

  def teardown = FileUtils.remove_entry(@folder)

  def test_a_copy_of_the_whole_folder_has_all_that_was_acknowledged
    copy = File.join(@folder, "whole")
    FileUtils.cp_r(@data, copy)
    assert_equal ["kept", 1000], content(copy)
  end

  def test_the_data_file_alone_lacks_what_was_counted_in_memory
    copy = File.join(@folder, "alone")
    FileUtils.mkdir(copy)
    FileUtils.cp(File.join(@data, "data.mdb"), copy)
    note, views = content(copy)
    assert_equal "kept", note
    assert_operator views, :<, 1000
  end

  private

  def content(dir)
    assert_operator Elah::Store.check(dir)[:entries], :>, 0
    store = Elah::Store.open(dir)
    [store.table("notes").get("a"), store.counter("views", durability: :memory).get("a")]
  ensure
    store&.close
  end
end

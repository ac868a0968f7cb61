# frozen_string_literal: true

require "test_helper"
require "open3"
require "stringio"

# Tar streams of backups: lengths beyond what the header of a file can say, long paths, and streams of other programs.
class StoreBackupTarTest < Minitest::Test
  LARGE = 9 * 1024**3
  TIME = Time.at(1_790_000_000)

  def stream
    io = StringIO.new(String.new)
    target = Elah::Store::Backup::TarTarget.new(io)
    yield target
    target.finish
    io.string
  end

  def files(text)
    found = []
    source = Elah::Store::Backup::TarSource.new(StringIO.new(text), "it")
    source.each_file { |path, bytes, io| found << [path, io.read(bytes)] }
    found
  end

  def small(target, path, text) = target.add(path, text.bytesize, TIME) { |io| io.write(text) }

  def test_a_file_beyond_8_gib
    text = stream { |target| target.add("heap/data.mdb", LARGE, TIME) { nil } }
    found = Elah::Store::Backup::TarSource.new(StringIO.new(text), "it").enum_for(:each_file).first.take(2)
    assert_equal ["heap/data.mdb", LARGE], found
    listed, = Open3.capture2e("tar", "-tvf", "-", stdin_data: text, binmode: true)
    assert_match(%r{ #{LARGE} .* heap/data\.mdb$}, listed)
  end

  def test_files_come_back
    long = "#{'d' * 90}/#{'f' * 90}"
    text = stream do |target|
      small(target, "a", "")
      small(target, long, "x" * 513)
      small(target, "ä/b", "y" * 512)
    end
    assert_equal [["a", ""], [long, "x" * 513], ["ä/b".b, "y" * 512]], files(text)
    listed, = Open3.capture2e({ "LC_ALL" => "C.UTF-8" }, "tar", "-tf", "-", stdin_data: text, binmode: true)
    assert_equal ["a", long, "ä/b"], listed.force_encoding("UTF-8").split
  end

  def test_a_path_that_is_too_long
    error = assert_raises(Elah::Store::Backup::Failed) { stream { |target| small(target, "x" * 300, "") } }
    assert_match(/does not fit into a tar stream: .* Back up to a folder\.\z/, error.message)
  end

  def test_a_changed_header_is_no_tar
    text = stream { |target| small(target, "a", "text") }
    [124, 257].each do |at| # the length, the magic
      changed = text.dup.tap { |bytes| bytes.setbyte(at, "z".ord) }
      assert_raises(Elah::Store::Backup::Failed, at) { files(changed) }
    end
  end
end

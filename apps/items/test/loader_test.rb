# frozen_string_literal: true

require_relative "../loader"
require_relative "../progress_bar"
require_relative "../stores/embedded"
require_relative "store_checks"
require "fileutils"
require "open3"
require "stringio"
require "tmpdir"

# The loader, in this process and as a command.
class ItemsLoaderTest < Minitest::Test
  COMMAND = File.expand_path("../load", __dir__)

  def setup
    @folder = Dir.mktmpdir("items-load")
  end

  def teardown
    @elah_store&.close
    FileUtils.remove_entry(@folder)
  end

  def test_the_content_is_always_the_same
    item = Items::SampleItems.item(123_456)
    assert_match Items::Item::UUID, item.uuid
    assert_equal item, Items::SampleItems.item(123_456)
    uuids = Array.new(2000) { |number| Items::SampleItems.item(number).uuid }
    assert_equal uuids.uniq, uuids
  end

  def test_the_documents_may_be_printed
    out, status = Open3.capture2e(COMMAND, "--rows", "3", "--print", "--data", @folder)
    assert_predicate status, :success?, out
    assert_equal Array.new(3) { |number| "#{Items::SampleItems.item(number).document(number + 1)}\n" }, out.lines
    assert_empty Dir.children(@folder)
  end

  def test_a_killed_loader_continues_where_it_ended
    kill_in_the_middle
    out, status = Open3.capture2e(COMMAND, "--rows", "60000", "--data", @folder)
    assert_predicate status, :success?, out
    assert_match(/^[1-9]\d* items made; the store has 60000\.$/, out)
    assert_match(/^100 %  60,000 of 60,000/, out)
    @elah_store = Elah::Store.open(File.join(@folder, "items"))
    store = Items::Stores::Embedded.new(@elah_store)
    documents = store.fetch_many((0...60_000).step(997).to_a).last
    ids = documents.map { |document| Elah::JSON.parse(document).values_at("id", "uuid") }
    assert_equal ids.map { |id, _| [id, Items::SampleItems.item(id - 1).uuid] }, ids
  end

  def test_a_full_store_is_reported_and_the_loader_continues_with_more_room
    out, status = Open3.capture2e(COMMAND, "--rows", "30000", "--data", @folder, "--store-bytes-max", 20_000_000.to_s)
    refute_predicate status, :success?
    assert_match(/bytes/, out)
    out, status = Open3.capture2e(COMMAND, "--rows", "30000", "--data", @folder)
    assert_predicate status, :success?, out
    assert_match(/the store has 30000\./, out)
  end

  def test_a_bar_moves_on_a_terminal
    output = StringIO.new
    def output.tty? = true
    seconds = 0.0
    bar = Items::ProgressBar.new(1000, output: output, clock: -> { seconds })
    [0, 500, 1000].each do |done|
      bar.show(done)
      seconds += 1
    end
    assert_includes output.string, "[###############               ]  50 %  500 of 1,000, 500/s, 1 s left"
    assert output.string.end_with?("\n")
  end

  private

  def kill_in_the_middle
    Open3.popen2e(COMMAND, "--rows", "60000", "--data", @folder) do |_, output, process|
      output.gets
      assert_match(/ of 60,000/, output.gets)
      Process.kill(:KILL, process.pid)
    end
  end
end

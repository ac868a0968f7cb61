# frozen_string_literal: true

require "test_helper"
require "support/backup_case"
require "support/replaced_method"

# `elah store backup` beside a process that writes: what is confirmed is in the copy.
class StoreBackupTest < BackupCase
  include ReplacedMethod

  ROUNDS = 4

  def test_a_backup_under_load_has_what_was_confirmed_before_it
    start_writer
    ROUNDS.times do |round|
      before = confirmed
      if round.even?
        succeed("backup", path("b#{round}"))
        succeed("restore", path("b#{round}"), data: path("r#{round}"))
      else
        stream, = succeed("backup", "-")
        succeed("restore", "-", data: path("r#{round}"), stdin_data: stream)
      end
      assert_has(before, confirmed, path("r#{round}"))
      wait_for(before + 30)
    end
  end

  def test_a_journal_whose_files_come_and_go
    start_writer(ROLLER)
    backup = Elah::Store::Backup
    10.times do |round|
      before = confirmed
      between(round) { backup.create(@data, backup::FolderTarget.new(path("b#{round}"), @data)) }
      backup::Restoration.run(backup::FolderSource.new(path("b#{round}"), path("r#{round}")), path("r#{round}"))
      total = account(path("r#{round}"), "events")
      assert_operator before..(confirmed + 1), :cover?, total.accepted
      delivery = Elah::Sink.new("events", folder: path("r#{round}/sinks/events")) { nil }
      delivery.start
      wait_until("the restored events are delivered") { delivery.report["total"]["delivered"] == total.accepted }
      delivery.close
      wait_for(before + 20)
    end
  end

  # In the first round, files come and go while the ledger is taken.
  def between(round, &block)
    return yield if round.positive?

    take = Elah::Store::Snapshot.method(:take)
    delays = [400, 400]
    delay = -> { delays.shift&.then { |number| wait_for(confirmed + number) } }
    delayed = ->(dir) { delay.call.then { take.call(dir) }.tap { delay.call } }
    replacing(Elah::Store::Snapshot, :take, delayed, &block)
    assert_empty delays
  end

  def test_what_is_appended_later_is_not_in_the_copy
    start_writer
    Elah::Store::Backup::Contents.pin(@data) do |contents|
      pinned = confirmed
      wait_for(pinned + 20)
      file = contents.each_file.find { |each| each.path == "sinks/events/journal-0/0000000000000001.segment" }
      numbers = file.reader.call(0, file.bytes).scan(/"number":(\d+)/).flatten.map(&:to_i)
      assert_operator 20..(pinned + 1), :cover?, numbers.max
    end
  end

  def test_a_file_is_a_stream_that_tar_reads
    entries = fill
    File.binwrite(path("b.tar"), succeed("backup", "-").first)
    listed, status = Open3.capture2("tar", "-tf", path("b.tar"))
    assert_predicate status, :success?
    assert_equal %w[numbers/data.mdb backup.json], listed.split
    output, = succeed("restore", path("b.tar"), data: path("r"))
    assert_match(/\ARestored 1 store, \d+ bytes into #{path('r')}\.\n\z/, output)
    store = Elah::Store.open(path("r/numbers"))
    assert_equal entries, store.table("numbers").size
    store.close
    # A stream that was unpacked and packed again by others.
    FileUtils.mkdir(path("unpacked"))
    assert system("tar", "-xf", path("b.tar"), "-C", path("unpacked"))
    succeed("restore", path("unpacked"), data: path("r2"))
    assert system("tar", "-cf", path("again.tar"), "-C", path("unpacked"), ".")
    succeed("restore", path("again.tar"), data: path("r3"))
  end

  def test_paths_that_are_not_ascii_in_the_locale_c
    data = path("Daten ä")
    store = Elah::Store.open(File.join(data, "größe"))
    store.table("t").put("k", "v")
    store.close
    succeed("backup", path("Kopie ö"), data: data, env: { "LC_ALL" => "C" })
    succeed("restore", path("Kopie ö"), data: path("r"), env: { "LC_ALL" => "C" })
    stream, = succeed("backup", "-", data: data, env: { "LC_ALL" => "C" })
    succeed("restore", "-", data: path("r2"), stdin_data: stream, env: { "LC_ALL" => "C" })
    assert_path_exists path("r/größe/data.mdb")
    assert_path_exists path("r2/größe/data.mdb")
    File.rename(File.join(data, "größe"), File.join(data.b, "gr\xf6\xdfe".b))
    error = refuse("backup", path("b"), data: data).force_encoding("UTF-8")
    assert_match(/The path gr\uFFFD+e is not UTF-8: rename the folder/, error)
  end

  # The backup stands still in the middle, since nobody reads its stream.
  def standing_backup
    reader, writer = IO.pipe(binmode: true)
    pid = Process.spawn(*command("backup", "-"), chdir: ROOT, out: writer, err: path("errors"))
    @pids << pid
    writer.close
    start = reader.readpartial(1000)
    yield pid, reader, start
  ensure
    reader&.close
  end

  # Its path, ".", was taken for one that is not UTF-8.
  def test_a_store_that_is_the_data_folder_itself
    store = Elah::Store.open(@data)
    store.table("numbers").put("1", "one")
    succeed("backup", path("b"))
    succeed("check")
    store.close
    succeed("restore", path("b"), data: path("r"))
    restored = Elah::Store.open(path("r"))
    assert_equal "one", restored.table("numbers").get("1")
  ensure
    restored&.close
  end

  # The data folder was taken for a sink, so that the stream could not be restored.
  def test_a_store_with_the_name_of_a_ledger
    store = Elah::Store.open(File.join(@data, "ledger"))
    store.table("numbers").put("1", "one")
    succeed("backup", path("b"))
    store.close
    succeed("restore", path("b"), data: path("r"))
    restored = Elah::Store.open(File.join(path("r"), "ledger"))
    assert_equal "one", restored.table("numbers").get("1")
  ensure
    restored&.close
  end

  # Its path was "./ledger".
  def test_a_sink_that_is_the_data_folder_itself
    sink = Elah::Sink.new("visits", folder: @data, deliver: false)
    sink.push({ "page" => "/" }, durability: :disk)
    succeed("backup", path("b"))
    succeed("restore", path("b"), data: path("r"))
    assert_equal 1, Dir[File.join(path("r"), "journal-*", "*.segment")].size
    assert_path_exists File.join(path("r"), "ledger", "data.mdb")
  ensure
    sink&.close
  end

  # A folder that had this name, or a link to one, was emptied, even when it was the data folder.
  def test_a_folder_with_the_name_of_an_unfinished_backup_is_left_alone
    fill
    other = path("b.unfinished")
    File.symlink(@data, other)
    assert_match(/b\.unfinished is no unfinished backup: remove it/, refuse("backup", path("b")))
    File.delete(other)
    FileUtils.cp_r(@data, other)
    assert_match(/b\.unfinished is no unfinished backup: remove it/, refuse("backup", path("b")))
    assert_equal Dir.children(@data).sort, Dir.children(other).sort
    FileUtils.rm_r(other)
    Dir.mkdir(path("elsewhere"))
    File.symlink(path("elsewhere"), path("b"))
    assert_match(/b is a mount point or a symbolic link: name a folder in it/, refuse("backup", path("b")))
    succeed("backup", path("b/today"))
    refute_empty Dir.children(path("elsewhere/today"))
  end

  def test_a_reader_of_the_stream_that_stands_still_holds_nobody
    fill
    start_writer
    before = confirmed
    standing_backup do |pid, reader, start|
      wait_for(confirmed + 200)
      after = confirmed
      stream = start + reader.read
      assert_predicate Process.wait2(pid).last, :success?, File.read(path("errors"))
      succeed("restore", "-", data: path("r"), stdin_data: stream)
      numbers = contents(path("r")).first
      assert_operator numbers, :>=, before
      assert_operator numbers, :<, after + 60, "the copy has its own moment"
    end
  end

  def test_a_server_that_is_killed_meanwhile_spoils_nothing
    writer = start_writer
    before = confirmed
    standing_backup do |pid, reader, start|
      stop(writer)
      stream = start + reader.read
      assert_predicate Process.wait2(pid).last, :success?, File.read(path("errors"))
      succeed("restore", "-", data: path("r"), stdin_data: stream)
      assert_has(before, confirmed, path("r"))
    end
  end

  def test_a_killed_backup_is_no_backup_and_does_not_hinder_the_next
    fill
    start_writer
    standing_backup do |pid, reader, start|
      stop(pid)
      stream = start + reader.read
      refusal = refuse("restore", "-", data: path("r"), stdin_data: stream)
      assert_match(/ends early.*: it is no complete backup/, refusal)
    end
    refute_path_exists path("r")
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    killed = ["strace", "-f", "-o", File::NULL, "-e", "trace=fsync", "-e", "inject=fsync:signal=KILL:when=3"]
    Open3.capture2e(*killed, *command("backup", path("b")), chdir: ROOT)
    refute_path_exists path("b")
    refute_empty Dir.children(path("b.unfinished"))
    error = refuse("restore", path("b.unfinished"), data: path("r"))
    assert_match(/is no complete backup: it has no backup\.json/, error)
    refute_path_exists path("r")
    succeed("backup", path("b"))
    refute_path_exists path("b.unfinished")
    succeed("restore", path("b"), data: path("r"))
  end
end

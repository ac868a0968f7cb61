# frozen_string_literal: true

require "test_helper"
require "etc"
require "fileutils"
require "minitest/mock"
require "open3"
require "support/patience"
require "support/store_process"
require "tmpdir"

# `elah store backup` and `restore` beside a process that writes: what is confirmed is in the copy, and a copy that is
# not whole is never restored.
class StoreBackupTest < Minitest::Test
  include Patience

  ROOT = File.expand_path("../..", __dir__)
  ROUNDS = 4

  # Writes numbers, counts in memory and pushes events, and notes how far it has come.
  WRITER = <<~RUBY
    data, progress = ARGV
    store = Elah::Store.open(File.join(data, "numbers"), fold_seconds: 0.005)
    table = store.table("numbers")
    counter = store.counter("counted", durability: :memory)
    events = Elah::Sink.new("events", folder: File.join(data, "sinks", "events"), retry_seconds: 60) { raise "away" }
    copies = Elah::Sink.new("copies", folder: File.join(data, "sinks", "copies"), linger_seconds: 0,
                                      to: Elah::Sink::StoreTable.new(store, "copies"))
    note = File.open(progress, "w+b")
    (1..).each do |number|
      table.put(format("%08d", number), "x" * 2000)
      20.times { counter.increment("all") }
      events.push({ number: number }, durability: :disk)
      copies.push({ number: number }, durability: number % 50 == 0 ? :delivered : :memory)
      note.pwrite([number].pack("Q>"), 0)
    end
  RUBY

  # Files of 8 KB, which fill up and are delivered and deleted all the time.
  ROLLER = <<~RUBY
    data, progress = ARGV
    sink = Elah::Sink.new("events", folder: File.join(data, "sinks", "events"), journal_bytes_max: 65_536,
                                    event_bytes_max: 3000, batch_events_max: 3, linger_seconds: 0) { nil }
    note = File.open(progress, "w+b")
    (1..).each do |number|
      begin
        sink.push("x" * (number % 2500), durability: number % 20 == 0 ? :disk : :memory)
      rescue Elah::Sink::Full
        sleep 0.001
        retry
      end
      note.pwrite([number].pack("Q>"), 0)
    end
  RUBY

  def setup
    @folder = Dir.mktmpdir("elah-backup")
    @data = File.join(@folder, "data")
    @progress = File.join(@folder, "progress")
    @pids = []
  end

  def teardown
    @pids.each { |pid| stop(pid) }
    FileUtils.chmod_R("u+rwX", @folder)
    FileUtils.remove_entry(@folder)
  end

  def start_writer(script = WRITER)
    command = [RbConfig.ruby, "-EUTF-8", "-I#{StoreProcess::LIB}", "-e", StoreProcess::PRELUDE + script]
    log = File.join(@folder, "log")
    pid = Process.spawn(*command, @data, @progress, out: log, err: log)
    @pids << pid
    wait_for(20)
    pid
  end

  def stop(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  def confirmed = File.size?(@progress) ? File.binread(@progress, 8).unpack1("Q>") : 0

  def wait_for(number)
    wait_until("the writer has confirmed #{number}") { confirmed >= number }
  end

  def fill(bytes = 3_000_000)
    store = Elah::Store.open(File.join(@data, "numbers"))
    table = store.table("numbers")
    (bytes / 50_000).times { |number| table.put(format("%08d", number), number.to_s.ljust(50_000, "x")) }
    table.size
  ensure
    store&.close
  end

  def command(*arguments, data: @data)
    [RbConfig.ruby, "-Ilib", "exe/elah", "store", *arguments, "--data", data]
  end

  def elah(*arguments, data: @data, env: {}, **options)
    Open3.capture3(env, *command(*arguments, data: data), chdir: ROOT, binmode: true, **options)
  end

  def succeed(*arguments, **options)
    output, error, status = elah(*arguments, **options)
    assert_predicate status, :success?, error
    [output, error]
  end

  def refuse(*arguments, status: 1, **options)
    output, error, found = elah(*arguments, **options)
    assert_equal status, found.exitstatus, "#{output.byteslice(0, 200)} #{error}"
    error
  end

  def path(name) = File.join(@folder, name)

  # The numbers, counts and events of a restored folder.
  def contents(data)
    store = Elah::Store.open(File.join(data, "numbers"))
    numbers = store.table("numbers").size
    counted = store.counter("counted", durability: :memory).get("all")
    copies = store.table("copies").size
    store.close
    [numbers, counted, copies, *%w[events copies].map { |name| account(data, name) }]
  end

  def account(data, name)
    folder = File.join(data, "sinks", name)
    ledger = Elah::Sink::Ledger.open(folder)
    account = Elah::Sink::Account.of(folder, ledger)
    assert_predicate account, :holds?, account.sums.inspect
    account.total
  ensure
    ledger&.close
  end

  def assert_has(before, after, data)
    numbers, counted, copies, events, copied = contents(data)
    assert_operator before..(after + 1), :cover?, numbers
    assert_operator (20 * before)..(20 * (after + 1)), :cover?, counted
    assert_operator before..(after + 1), :cover?, events.accepted
    assert_equal events.accepted, events.queued + events.dead
    assert_operator before..(after + 1), :cover?, copied.accepted
    # What the ledger has as delivered is in the table, which was copied later.
    assert_operator copies, :>=, copied.delivered
  end

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
      backup::Restoration.run(backup::FolderSource.new(path("b#{round}")), path("r#{round}"))
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
    Elah::Store::Snapshot.stub(:take, delayed, &block)
    assert_empty delays
  end

  def test_what_is_appended_later_is_not_in_the_copy
    start_writer
    Elah::Store::Backup::Contents.pin(@data) do |contents|
      pinned = confirmed
      wait_for(pinned + 20)
      file = contents.each_file.find { |each| each.path == "sinks/events/journal-0/0000000000000001.log" }
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
      assert_match(/ends early.*: it is no complete backup/, refuse("restore", "-", data: path("r"), stdin_data: stream))
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

  def test_a_stream_that_ends_early_is_never_restored
    fill(300_000)
    stream, = succeed("backup", "-")
    random = Random.new(Integer(ENV.fetch("ELAH_BACKUP_SEED", 7)))
    manifest_at = stream.rindex("{\"backup\":")
    lengths = [0, 1, 511, 512, manifest_at - 512, manifest_at, manifest_at + 10]
    [*lengths, *Array.new(5) { random.rand(manifest_at) }].each do |length|
      error = refuse("restore", "-", data: path("r"), stdin_data: stream.byteslice(0, length))
      assert_match(/no complete backup|is no tar stream/, error, length)
      refute_path_exists path("r"), length
    end
  end

  def test_a_changed_byte_is_found
    fill(300_000)
    succeed("backup", path("b"))
    file = path("b/numbers/data.mdb")
    sound = File.binread(file)
    [100, sound.bytesize / 2, sound.bytesize - 1].each do |at|
      File.binwrite(file, sound.dup.tap { |bytes| bytes.setbyte(at, bytes.getbyte(at) ^ 1) })
      error = refuse("restore", path("b"), data: path("r"))
      assert_match(%r{The backup is not what was written: numbers/data\.mdb differs or is missing\.}, error)
    end
    File.binwrite(file, sound)
    File.write(path("b/numbers/more"), "more")
    assert_match(%r{numbers/more differs}, refuse("restore", path("b"), data: path("r")))
    File.delete(path("b/numbers/more"))
    File.write(path("b/backup.json"), "{")
    assert_match(/backup\.json of the backup cannot be read/, refuse("restore", path("b"), data: path("r")))
    File.write(path("b/backup.json"), '{"backup":9,"elah":"7.0.0"}')
    error = refuse("restore", path("b"), data: path("r"))
    assert_match(/has the format 9, written by Elah 7\.0\.0; this version reads 1/, error)
    refute_path_exists path("r")
  end

  def test_a_stream_from_elsewhere_writes_nothing_outside
    FileUtils.mkdir_p(path("evil/below"))
    File.write(path("evil/outside"), "x")
    File.write(path("evil/below/backup.json"), "{}")
    assert system("tar", "-cPf", path("evil.tar"), "../outside", "backup.json", chdir: path("evil/below"))
    FileUtils.rm(path("evil/outside"))
    FileUtils.mkdir(path("evil/r"))
    error = refuse("restore", path("evil.tar"), data: path("evil/r"))
    assert_match(%r{a file with the path \.\./outside, which is not allowed}, error)
    refute_path_exists path("evil/outside")
    assert_empty Dir.children(path("evil/r"))
    File.binwrite(path("text"), "no tar " * 1000)
    assert_match(/text is no tar stream/, refuse("restore", path("text"), data: path("r")))
  end

  def test_targets_that_cannot_be_used
    fill
    FileUtils.mkdir(path("full"))
    File.write(path("full/file"), "x")
    assert_match(/full is not empty: name a new folder/, refuse("backup", path("full")))
    assert_match(/lies in the data folder/, refuse("backup", File.join(@data, "b")))
    assert_match(/cannot be written to .*File exists/, refuse("backup", path("full/file/b")))
    assert_match(/needs a new folder, or - for a tar stream/, refuse("backup", status: 2))
    assert_match(/Only one path is allowed/, refuse("backup", path("a"), path("b"), status: 2))
    assert_match(/No store in #{path('none')}/, refuse("backup", path("b"), data: path("none")))
    assert_match(/is not empty: a backup is restored into an empty folder only/, refuse("restore", path("full")))
    assert_match(/none cannot be read: No such file/, refuse("restore", path("none"), data: path("r")))
    assert_empty Dir.children(@folder) - %w[data full]
    FileUtils.mkdir(path("empty"))
    succeed("backup", path("empty"))
    FileUtils.mkdir(path("r"))
    succeed("restore", path("empty"), data: path("r"))
  end

  def test_a_folder_that_may_not_be_written
    FileUtils.mkdir(path("locked"), mode: 0o755)
    File.chmod(0o755, @folder)
    failed = Elah::Store::Backup::Failed
    Elah::Store::Backup::FolderTarget.name # loads it while this user may
    pid = fork do
      Process::UID.change_privilege(Etc.getpwnam("nobody").uid) if Process.uid.zero?
      File.chmod(0o555, path("locked")) if File.owned?(path("locked"))
      error = assert_raises(failed) { Elah::Store::Backup::FolderTarget.new(path("locked/b"), @data) }
      assert_match(/cannot be written to .*: Permission denied/, error.message)
      exit!(0)
    rescue Minitest::Assertion => e
      warn e.message
      exit!(1)
    end
    assert_predicate Process.wait2(pid).last, :success?
  end

  def test_a_damaged_store_is_named_and_not_backed_up
    fill
    file = File.join(@data, "numbers/data.mdb")
    File.open(file, "r+b") { |io| (2...File.size(file) / 4096).each { |page| io.pwrite("\xff" * 4, page * 4096 + 12) } }
    assert_match(%r{The store in #{@data}/numbers .* damaged: page \d+}, refuse("backup", path("b")))
    assert_empty Dir.children(@folder) - %w[data]
  end

  def test_a_store_on_another_disk_is_in_the_backup
    fill
    FileUtils.mv(File.join(@data, "numbers"), path("disk"))
    File.symlink(path("disk"), File.join(@data, "numbers"))
    File.symlink(".", File.join(@data, "itself"))
    succeed("backup", path("b"))
    assert_path_exists path("b/numbers/data.mdb")
    assert_match(%r{\A#{@data}/numbers: no damage}, succeed("check", "--data", @data).first)
  end

  # Its folder would be a pattern of other ones.
  def test_a_sink_in_a_folder_with_brackets_is_whole_in_the_backup
    fill
    sink = Elah::Sink.new("events", folder: File.join(@data, "shop [1]"), deliver: false) { nil }
    sink.push("x", durability: :disk)
    succeed("backup", path("b"))
    journals = Dir.glob("journal-*/*.log", base: File.join(@data, "shop [1]"))
    assert_equal journals, Dir.glob("journal-*/*.log", base: path("b/shop [1]"))
    refute_empty journals
  end

  def test_a_folder_that_may_not_be_read_is_named
    fill(100_000)
    [@folder, @data].each { |folder| File.chmod(0o755, folder) }
    File.chmod(0o000, File.join(@data, "numbers"))
    failed = Elah::Store::Backup::Failed
    error = as_another_user { assert_raises(failed) { Elah::Store::Backup::Contents.stores(@data) } }
    assert_includes error, "The folder #{@data}/numbers may not be read"
  end

  # The message of the exception that the block returns.
  def as_another_user
    Elah::Store::Backup::Contents.name # loads it while this user may
    IO.popen("-") do |child|
      return child.read if child

      Process::UID.change_privilege(Etc.getpwnam("nobody").uid) if Process.uid.zero?
      print yield.message
    rescue Minitest::Assertion => e
      print e.message
    ensure
      $stdout.flush
      exit!(0) unless child
    end
  end

  def test_files_that_belong_to_no_store_are_named
    fill
    FileUtils.mkdir(File.join(@data, "uploads"))
    File.write(File.join(@data, "uploads/one.png"), "x")
    output, = succeed("backup", path("b"))
    assert_match(%r{Not in the backup, because they belong to no store and no sink: uploads/one\.png\.}, output)
    refute_path_exists path("b/uploads")
    output, errors = succeed("backup", "-")
    assert_match(/\ABacked up 1 store, \d+ bytes to the stream\.\nNot in the backup/, errors)
    refute_includes output, "one.png"
  end

  def test_a_restore_that_was_killed_is_known_and_repeated
    fill
    succeed("backup", path("b"))
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    killed = ["strace", "-f", "-o", File::NULL, "-e", "trace=fsync", "-e", "inject=fsync:signal=KILL:when=1"]
    Open3.capture2e(*killed, *command("restore", path("b"), data: path("r")), chdir: ROOT)
    assert_equal %w[restore.unfinished], Dir.children(path("r"))
    assert_match(/has an unfinished restore/, refuse("check", data: path("r")))
    serve = command("x", data: path("r")).map { |word| { "store" => "serve", "x" => "app.rb" }.fetch(word, word) }
    output, status = Open3.capture2e(*serve, chdir: ROOT)
    assert_equal 1, status.exitstatus
    assert_match(/has an unfinished restore: run `elah store restore` again/, output)
    succeed("restore", path("b"), data: path("r"))
    assert_equal %w[numbers], Dir.children(path("r"))
  end

  def test_a_disk_that_fills_up_leaves_nothing_of_the_copy
    skip "namespaces are not allowed here" unless system("unshare", "-rm", "true", err: File::NULL)
    fill
    writer = start_writer
    FileUtils.mkdir(path("small"))
    script = "mount -t tmpfs -o size=1m none small && cd #{ROOT} && #{command('backup', path('small/b')).join(' ')}; " \
             "status=$?; ls -A #{path('small')}; exit $status"
    output, status = Open3.capture2e("unshare", "-rm", "sh", "-c", script, chdir: @folder)
    assert_equal 1, status.exitstatus, output
    assert_match(/\Aelah: The backup failed and was removed: No space left on device[^\n]*\n\z/, output)
    succeed("backup", path("b"))
    script = script.sub(/backup \S+/, "restore #{path('b')}").sub(/--data \S+?;/, "--data #{path('small/r')};")
    output, status = Open3.capture2e("unshare", "-rm", "sh", "-c", script, chdir: @folder)
    assert_equal 1, status.exitstatus, output
    assert_match(/\Aelah: The restore into \S+ failed, and nothing of it is left: No space left [^\n]*\n\z/, output)
    wait_for(confirmed + 20)
    assert_nil Process.wait(writer, Process::WNOHANG)
  end

  def test_a_store_in_use_is_not_compacted
    fill(100_000)
    writer = start_writer
    error = refuse("compact")
    assert_match(/Another process has the store in \S+ open: stop every process that uses it to compact it\./, error)
    assert_match(/It is in use by process #{writer} \(/, error)
    wait_for(confirmed + 20)
    stop(writer)
    succeed("compact")
    assert_operator contents(@data).first, :>=, confirmed
  end

  def test_a_compaction_that_is_killed_leaves_a_whole_store
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    entries = fill(1_000_000)
    calls = %w[fsync unlink rename]
    calls.each do |call|
      killed = ["strace", "-f", "-o", File::NULL, "-e", "trace=#{call}", "-e", "inject=#{call}:signal=KILL:when=1"]
      output, status = Open3.capture2e(*killed, *command("compact"), chdir: ROOT)
      assert_equal 9, status.termsig, "#{call} #{output}"
      succeed("check")
      store = Elah::Store.open(File.join(@data, "numbers"))
      assert_equal entries, store.table("numbers").size, call
      store.close
    end
    succeed("compact")
    assert_equal %w[data.mdb], Dir.children(File.join(@data, "numbers"))
  end

  def test_figures
    fill
    output, = succeed("stats")
    assert_match(%r{\A#{@data}/numbers: \d+ bytes, format 1 of Elah #{Elah::VERSION}$}, output)
    assert_match(/^  table numbers: 60 entries, \d+ bytes$/, output)
    start_writer
    rows = Elah::JSON.parse(succeed("stats", "--json").first)
    numbers = rows.find { |row| row["folder"] == "#{@data}/numbers" }
    assert_operator numbers.dig("tables", "numbers", "entries"), :>=, 60
    assert_match(/\Aprocess #{@pids.last} \(/, numbers["used_by"].first)
    assert_equal %w[copies events], rows.filter_map { |row| row.dig("sink", "name") }.sort
    assert_match(/has no flag --json/, refuse("check", "--json", status: 2))
  end
end

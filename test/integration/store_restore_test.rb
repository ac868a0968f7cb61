# frozen_string_literal: true

require "test_helper"
require "etc"
require "support/backup_case"

# `elah store` on bad days: a copy that is not whole is never restored, and what cannot be read, written or used
# is named.
class StoreRestoreTest < BackupCase
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
    error = refuse("restore", path("b"), data: path("r"))
    assert_match(%r{has files that it was not written with: numbers/more\.}, error)
    File.delete(path("b/numbers/more"))
    File.write(path("b/backup.json"), "{")
    assert_match(/backup\.json of the backup cannot be read/, refuse("restore", path("b"), data: path("r")))
    File.write(path("b/backup.json"), "[]")
    assert_match(/backup\.json of the backup is no JSON object/, refuse("restore", path("b"), data: path("r")))
    File.write(path("b/backup.json"), '{"backup":9,"elah":"7.0.0"}')
    error = refuse("restore", path("b"), data: path("r"))
    assert_match(/has the format 9, written by Elah 7\.0\.0; this version reads 1/, error)
    refute_path_exists path("r")
  end

  # The commands leave a file beside the store, with which the backup was said to be "not what was written".
  def test_a_backup_whose_stores_were_looked_at_is_restored
    fill(300_000)
    succeed("backup", path("b"))
    %w[check stats].each { |command| succeed(command, data: path("b")) }
    assert_path_exists path("b/numbers/lock.mdb")
    succeed("restore", path("b"), data: path("r"))
    assert_equal %w[data.mdb], Dir.children(path("r/numbers"))
    assert_match(%r{/numbers: no damage}, succeed("check", data: path("r")).first)
  end

  # The process was said to hold an older opening of the store.
  def test_two_names_of_a_store_are_named_and_not_backed_up
    fill
    File.symlink("numbers", File.join(@data, "latest"))
    error = refuse("backup", path("b"))
    assert_match(%r{#{@data}/latest and #{@data}/numbers are one store: remove the link}, error)
    refute_path_exists path("b")
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
    # It was restored there, and could not be restored again.
    assert_match(/lies in the backup .*empty/, refuse("restore", path("empty"), data: path("empty/r")))
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
    journals = Dir.glob("journal-*/*.segment", base: File.join(@data, "shop [1]"))
    assert_equal journals, Dir.glob("journal-*/*.segment", base: path("b/shop [1]"))
    refute_empty journals
    rows = Elah::JSON.parse(succeed("stats", "--json").first)
    assert_equal journals.size, rows.filter_map { |row| row.dig("sink", "journal_files") }.sum
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

  # It was "not empty": the file system has made a folder in it.
  def test_a_backup_is_restored_to_a_new_volume
    fill
    succeed("backup", path("b"))
    FileUtils.mkdir_p(path("r/lost+found"))
    succeed("restore", path("b"), data: path("r"))
    assert_equal %w[lost+found numbers], Dir.children(path("r")).sort
  end

  # A script could open a store in the folder meanwhile, which the restore removed when it failed at its end.
  def test_no_store_is_opened_in_a_folder_into_which_a_restore_runs
    fill
    succeed("backup", path("b"))
    FileUtils.mkdir_p(path("r/restore.unfinished"))
    [path("r"), path("r/numbers")].each do |folder|
      error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(folder) }
      assert_match(/has an unfinished restore/, error.message)
    end
    assert_equal %w[restore.unfinished], Dir.children(path("r"))
  end

  def test_a_restore_that_fails_leaves_the_files_of_others
    fill
    succeed("backup", path("b"))
    data = path("r")
    require "elah/store/backup/restoration"
    moved = Elah::Store::Backup.const_get(:Folders).singleton_class
    original = moved.instance_method(:sync)
    moved.remove_method(:sync)
    moved.define_method(:sync) do |folder|
      FileUtils.mkdir_p(File.join(data, "numbers"))
      File.write(File.join(data, "numbers/mine"), "x")
      original.bind_call(self, folder)
    end
    source = Elah::Store::Backup::FolderSource.new(path("b"), data)
    assert_raises(Elah::Store::Backup::Failed) { Elah::Store::Backup::Restoration.run(source, data) }
    assert_equal %w[mine], Dir.children(path("r/numbers"))
    assert_equal %w[numbers], Dir.children(data)
  ensure
    moved.remove_method(:sync)
    moved.define_method(:sync, original)
  end

  # The first call renames the folder, the next two move a store each.
  def test_a_restore_that_was_killed_while_it_moved_its_files_is_repeated
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    fill(100_000)
    FileUtils.cp_r(File.join(@data, "numbers"), File.join(@data, "more"))
    succeed("backup", path("b"))
    { 1 => %w[restore.unfinished], 2 => %w[restore.checked], 3 => %w[more restore.checked] }.each do |call, left|
      restore_killed_at("rename", call)
      found = Dir.children(path("r")).map { |name| name == "numbers" ? "more" : name }
      assert_equal left, found.sort
      assert_match(/has an unfinished restore/, refuse("check", data: path("r")))
      output, = succeed("restore", path("b"), data: path("r"))
      assert_match(/\ARestored 2 stores, /, output)
      assert_equal %w[more numbers], Dir.children(path("r")).sort
      succeed("check", data: path("r"))
      FileUtils.rm_rf(path("r"))
    end
  end

  def test_a_killed_restore_is_not_undone_when_the_folder_has_other_files
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    fill(100_000)
    succeed("backup", path("b"))
    restore_killed_at("rename", 2)
    File.write(path("r/mine"), "x")
    error = refuse("restore", path("b"), data: path("r"))
    assert_match(/is not empty: a backup is restored into an empty folder only/, error)
    assert_equal %w[mine restore.checked], Dir.children(path("r")).sort
    File.delete(path("r/mine"))
    succeed("restore", path("b"), data: path("r"))
    assert_equal %w[numbers], Dir.children(path("r"))
  end

  def test_a_restore_that_was_killed_when_all_files_were_in_their_places_is_complete
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    fill(100_000)
    succeed("backup", path("b"))
    restore_killed_at("rmdir", 1)
    assert_equal %w[numbers restore.checked], Dir.children(path("r")).sort
    assert_match(%r{\A#{path('r')}/numbers: no damage}, succeed("check", data: path("r")).first)
    assert_match(/is not empty/, refuse("restore", path("b"), data: path("r")))
  end

  def restore_killed_at(call, number)
    inject = "inject=#{call}:signal=KILL:when=#{number}"
    killed = ["strace", "-f", "-o", File::NULL, "-e", "trace=#{call}", "-e", inject]
    output, status = Open3.capture2e(*killed, *command("restore", path("b"), data: path("r")), chdir: ROOT)
    assert_equal 9, status.termsig, output
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

  # A snapshot of the disk, or a volume that a container may only read.
  def read_only(*arguments, data: @data)
    script = "mount --bind #{data} #{data} && mount -o remount,bind,ro #{data} && exec #{command(*arguments).join(' ')}"
    Open3.capture2e("unshare", "-rm", "sh", "-c", script, chdir: ROOT)
  end

  def test_a_folder_on_a_read_only_file_system
    skip "namespaces are not allowed here" unless system("unshare", "-rm", "true", err: File::NULL)
    writer = start_writer
    wait_for(60)
    stop(writer)
    before = Dir.children(File.join(@data, "numbers")).sort
    FileUtils.rm(File.join(@data, "numbers/lock.mdb"))
    { ["check"] => %r{/numbers: no damage}, ["stats"] => /table numbers: \d+ entries/,
      ["backup", path("b")] => /\ABacked up 3 stores and 2 sinks/ }.each do |arguments, expected|
      output, status = read_only(*arguments)
      assert_match(expected, output)
      assert_predicate status, :success?, output
    end
    assert_equal before - %w[lock.mdb], Dir.children(File.join(@data, "numbers")).sort
    succeed("restore", path("b"), data: path("r"))
    assert_has(confirmed, confirmed, path("r"))
  end

  def test_a_folder_that_is_read_only_here_and_written_elsewhere_is_refused
    skip "namespaces are not allowed here" unless system("unshare", "-rm", "true", err: File::NULL)
    start_writer
    output, status = read_only("check")
    assert_match(/Another process has the store .* stop every process that uses it to read it on a read-only/, output)
    assert_equal 1, status.exitstatus
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

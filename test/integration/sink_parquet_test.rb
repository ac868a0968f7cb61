# frozen_string_literal: true

# Parquet files as a destination, read by DuckDB: what is in them, what comes twice, what does not fit, a process that
# is killed, and a disk that is full or not there.
require "test_helper"
require "support/duckdb"
require "support/sink_case"
require "support/store_process"

class SinkParquetTest < SinkCase
  HOUR = 3600

  def archive = File.join(@folder, "archive")

  def query(what)
    DuckDB.query(what.sub("ARCHIVE", "read_parquet('#{archive}/**/*.parquet', hive_partitioning = true)"))
  end

  def paths = Dir.glob("**/*.parquet", base: archive).sort

  def files(**options, &row) = Elah::Sink::ParquetFiles.new(archive, **options, &row)

  def event(number, hour: 0, **data)
    Elah::Sink::Event.new(Elah::Sink::Id.raw(Elah::Sink.id_of(number.to_s)), +"s", hour * HOUR * 1000, true,
                          +JSON.generate({ n: number, **data }))
  end

  def test_a_user_of_duckdb_finds_every_event_in_its_hour
    clock = Elah::Store::Clock.new(Time.utc(2026, 11, 21, 13, 59, 59, 250_000))
    events = sink(to: files, clock: clock)
    early = events.push_all([{ n: 1, text: "Grüße \u{1F600}" }, "\xFFraw".b], durability: :delivered, stream: "shop",
                                                                              wait_seconds: 60)
    assert_equal :delivered, early.durability
    clock.advance(0.75)
    late = events.push({ n: 2 }, durability: :delivered, wait_seconds: 60)
    assert_equal ["day=2026-11-21/hour=13/#{early.ids.first}.parquet", "day=2026-11-21/hour=14/#{late.id}.parquet"],
                 paths
    assert_equal [[early.ids.first, "shop", "2026-11-21 13:59:59.25+00", 13, "Grüße \u{1F600}", nil],
                  [early.ids.last, "shop", "2026-11-21 13:59:59.25+00", 13, nil, "b'\\xffraw'"],
                  [late.id, "", "2026-11-21 14:00:00+00", 14, nil, nil]],
                 query("SELECT id, stream, accepted_at::VARCHAR, hour, data->>'$.text', bytes FROM ARCHIVE " \
                       "ORDER BY hour, bytes IS NOT NULL")
    assert_equal %w[UUID VARCHAR TIMESTAMP\ WITH\ TIME\ ZONE JSON BLOB DATE BIGINT],
                 query("SELECT column_type FROM " \
                       "(DESCRIBE SELECT id, stream, accepted_at, data, bytes, day, hour FROM ARCHIVE)").flatten
  end

  def test_columns_of_ones_own_are_typed_and_what_does_not_fit_is_parked
    columns = { path: :text, n: :integer, seconds: :float, ok: :boolean, at: :time }
    events = sink(to: files(columns: columns))
    events.push_all([{ path: "/a", n: 1, seconds: 0.5, ok: true, at: "2026-11-21T13:00:00.123456+01:00" },
                     { path: 7 }, {}, { n: 2**63 }, { at: "2026-02-30T12:00:00Z" },
                     { path: "/b", n: -2**63, seconds: 2, ok: false, at: 0.5 }], durability: :disk)
    assert events.flush(wait_seconds: 60)
    assert_equal [["/a", 1, 0.5, true, "2026-11-21 12:00:00.123456+00"],
                  ["/b", -2**63, 2.0, false, "1970-01-01 00:00:00.5+00"], [nil] * 5],
                 query("SELECT path, n, seconds, ok, \"at\"::VARCHAR FROM ARCHIVE ORDER BY path")
    assert_equal ["The column at holds time values; \"2026-02-30T12:00:00Z\" is not one.",
                  "The column n holds integer values; 9223372036854775808 is not one.",
                  "The column path holds text values; 7 is not one."], events.dead_letters.map(&:reason).sort
    assert_equal [6, 3, 0, 3], account(events)
  end

  # An event with a Time became a dead letter: its data has the text of Time#to_s.
  def test_a_time_in_an_event_is_a_time
    times = [Time.utc(2026, 11, 28, 12, 43, 38), Time.new(2026, 11, 28, 12, 43, 39, "-05:30"),
             "2026-11-28 12:43:40.25 UTC", "2026-02-30 12:43:38 UTC", "2026-11-28 12:43 UTC", "2026-11-28 12:43:38"]
    events = sink(to: files(columns: { at: :time }))
    events.push_all(times.map { |time| { at: time } }, durability: :disk)
    assert events.flush(wait_seconds: 60)
    assert_equal ["2026-11-28 12:43:38+00", "2026-11-28 12:43:40.25+00", "2026-11-28 18:13:39+00"],
                 query("SELECT \"at\"::VARCHAR FROM ARCHIVE ORDER BY \"at\"").flatten
    assert_equal [6, 3, 0, 3], account(events)
  end

  def test_a_block_gives_the_values
    files(columns: { "length" => :integer }) { |event| [event.bytes.bytesize] }.deliver([event(1)])
    assert_equal [[7]], query("SELECT length FROM ARCHIVE")
  end

  # As a visit without a time under a block that reads it.
  def test_an_event_that_a_block_cannot_read_is_parked
    dated = files(columns: { date: :text }) { |event| [event["at"][0, 10]] }
    visits = sink(to: dated)
    visits.push_all([{ path: "/", at: "2026-11-21T13:00:00Z" }, { path: "/without" }], durability: :disk)
    assert visits.flush(wait_seconds: 60)
    assert_equal [["2026-11-21"]], query("SELECT date FROM ARCHIVE")
    assert_equal ["/without"], visits.dead_letters.map { |letter| JSON.parse(letter.bytes)["path"] }
    assert_match(/\ANoMethodError: undefined method .\[\]' for nil/, visits.dead_letters.first.reason)
    assert_equal [2, 1, 0, 1], account(visits)
  end

  # The file of the first hour was there when the block failed in the second one, and those of the halves came beside.
  def test_an_event_that_a_block_cannot_read_doubles_no_event_of_another_hour
    clock = Elah::Store::Clock.new(Time.utc(2026, 11, 21, 13, 59, 59))
    accepting = sink(clock: clock, deliver: false)
    12.times { |n| accepting.push({ n: n, at: "2026-11-21T13:59:59Z" }, durability: :disk) }
    clock.advance(1)
    late = "2026-11-21T14:00:00Z"
    accepting.push_all([{ n: 12, at: late }, { n: 13 }, { n: 14, at: late }], durability: :disk)
    accepting.close
    visits = sink(to: files(columns: { date: :text }) { |event| [event["at"][0, 10]] }, clock: clock)
    assert visits.flush(wait_seconds: 60)
    assert_equal [[14, 14]], query("SELECT count(*), count(DISTINCT id) FROM ARCHIVE")
    assert_equal 2, paths.size
    assert_equal [15, 14, 0, 1], account(visits)
  end

  # As one that asks a database for a value.
  def test_a_block_that_fails_for_a_time_is_called_again
    failures = [Elah::Unavailable.new("The database is away.")]
    visits = sink(to: files(columns: { n: :integer }) { |event| failures.any? ? raise(failures.shift) : [event["n"]] })
    visits.push_all([{ n: 1 }, { n: 2 }], durability: :disk)
    assert visits.flush(wait_seconds: 60)
    assert_equal [[1], [2]], query("SELECT n FROM ARCHIVE ORDER BY n")
    assert_equal [2, 2, 0, 0], account(visits)
  end

  # After a crash a batch begins with the same event, and may have become longer.
  def test_a_batch_that_comes_again_is_there_once
    batch = Array.new(20) { |n| event(n, hour: n / 15) }
    files.deliver(batch + batch.first(3))
    files.deliver(batch)
    files.deliver(batch + [event(20, hour: 1), event(21, hour: 2)])
    assert_equal [[22, 22]], query("SELECT count(*), count(DISTINCT id) FROM ARCHIVE")
    assert_equal 3, paths.size
  end

  def test_an_event_that_was_sent_again_does_not_replace_the_file_of_others
    files.deliver([event(1), event(2)])
    files.deliver([event(1), event(3)])
    assert_equal [[1], [2], [3]], query("SELECT DISTINCT CAST(data->>'$.n' AS INT) AS n FROM ARCHIVE ORDER BY n")
  end

  # Killed at random while it writes: nothing half is visible, nothing is lost, and what it left is removed.
  def test_kill_9_in_the_middle
    random = Random.new(Minitest.seed)
    ready = [event(0)]
    files.deliver(ready)
    4.times { |round| kill_while_delivering(round, random.rand(1..30)) }
    assert_operator query("SELECT count(*) FROM ARCHIVE").flatten.first, :>, 1, "seed #{Minitest.seed}"
    told = File.readlines(File.join(@folder, "told"), chomp: true)
    found = query("SELECT id, count(*) FROM ARCHIVE GROUP BY id").to_h
    assert_empty told - found.keys, "seed #{Minitest.seed}: acknowledged and not there"
    assert_equal [1], found.values.uniq, "seed #{Minitest.seed}: there more than once"
    files.deliver(ready)
    assert_empty Dir.children(File.join(archive, ".unfinished"))
  end

  def test_a_full_disk_is_waited_for
    FileUtils.mkdir_p(archive)
    mount = 'mount -t tmpfs -o size=256k tmpfs "$0" && exec "$@"'
    may_mount = system("unshare", "--mount", "sh", "-c", mount, archive, "true", err: File::NULL)
    skip "this user may not mount" unless may_mount
    lines, status = StoreProcess.run(<<~'RUBY', @folder, under: ["unshare", "--mount", "sh", "-c", mount, archive])
      archive = File.join(ARGV[0], "archive")
      File.write(File.join(archive, "filler"), "x" * 200_000)
      files = Elah::Sink::ParquetFiles.new(archive)
      events = Elah::Sink.new("events", to: files, folder: File.join(ARGV[0], "sink"),
                                        retry_seconds: 0.01, retry_max_seconds: 0.02)
      events.push("x" + Random.new(1).bytes(100_000), durability: :disk)
      Thread.pass until events.health.failures > 2
      say events.health.error
      say Dir.glob("**/*.parquet", base: archive).size + Dir.children(File.join(archive, ".unfinished")).size
      File.delete(File.join(archive, "filler"))
      say events.flush
      say Dir.glob("**/*.parquet", base: archive).size
    RUBY
    assert_predicate status, :success?, lines.join("\n")
    told, said = lines.partition { |line| line.include?(" The sink events ") }
    assert_equal ["Errno::ENOSPC: No space left on device", "0", "true", "1"], said
    assert_match(/WARN .* cannot deliver.*ENOSPC.*INFO .* delivers again/m, told.join("\n"))
  end

  def test_a_folder_that_cannot_be_written_to_is_waited_for
    File.write(archive, "a file where the folder should be")
    events = sink(to: files)
    events.push({ n: 1 }, durability: :disk)
    wait_until("it was tried") { events.health.failures > 1 }
    assert_match(/\AErrno::(ENOTDIR|EEXIST)/, events.health.error)
    assert_equal [1, 0, 1, 0], account(events)
    File.delete(archive)
    assert events.flush(wait_seconds: 60)
    assert_equal [1, 1, 0, 0], account(events)
  end

  def test_wrong_columns_are_refused_at_once
    { { "a b" => :text } => "not a name", { "n" => :number } => "kind of a column",
      { "id" => :text } => "column id exists", { "n" => :text, n: :integer } => "column n exists",
      { day: :text } => "column day exists", { hour: :integer } => "column hour exists" }.each do |columns, words|
      assert_match(/#{words}/, assert_raises(Elah::OptionError) { files(columns: columns) }.message)
    end
  end

  private

  # A process that accepts and delivers without end, and writes down what was acknowledged.
  DELIVERING = <<~'RUBY'
    require "elah"
    folder = ARGV.fetch(0)
    told = File.open(File.join(folder, "told"), "a")
    files = Elah::Sink::ParquetFiles.new(File.join(folder, "archive"))
    events = Elah::Sink.new("events", to: files, folder: File.join(folder, "killed"),
                                      linger_seconds: 0.0, batch_events_max: 7)
    loop do
      ids = events.push_all(Array.new(10) { |n| { n: n, text: "x" * 500 } }, durability: :delivered).ids
      told.syswrite(ids.join("\n") + "\n")
      $stdout.syswrite(".")
    end
  RUBY

  def kill_while_delivering(round, batches)
    command = [RbConfig.ruby, "-I#{StoreProcess::LIB}", "-e", DELIVERING, @folder]
    IO.popen(command, "rb") do |process|
      assert_equal batches, process.read(batches)&.bytesize, "round #{round}: it ended by itself"
    ensure
      Process.kill(:KILL, process.pid)
    end
  end
end

# frozen_string_literal: true

require "fileutils"
require "open3"
require "tmpdir"
require_relative "patience"
require_relative "store_process"

# A test of `elah store` on a data folder of its own, and processes that write to it meanwhile.
class BackupCase < Minitest::Test
  include Patience

  ROOT = File.expand_path("../..", __dir__)

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
end

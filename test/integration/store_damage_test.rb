# frozen_string_literal: true

require "test_helper"
require "support/store_process"
require "fileutils"
require "open3"
require "tmpdir"

# Files of stores that are not what was written: what opening notices, what `elah store check` does, and what it says.
class StoreDamageTest < Minitest::Test
  PAGE = 4096
  ENTRIES = 2000

  def setup
    @parent = Dir.mktmpdir("elah-store")
    @dir = File.join(@parent, "links")
    @file = File.join(@dir, "data.mdb")
  end

  def teardown = FileUtils.remove_entry(@parent)

  # A store with short, long and expiring values, and with free pages.
  def fill
    store = Elah::Store.open(@dir)
    table = store.table("links")
    (0...ENTRIES).each_slice(200) do |part|
      store.transaction { |tx| part.each { |n| tx.put(table, key(n), value(n)) } }
    end
    (0...ENTRIES).each_slice(300) { |part| store.transaction { |tx| tx.delete(table, key(part.first)) } }
    table.put("soon", "gone", ttl: 1000)
  ensure
    store&.close
  end

  def key(number) = format("%05d", number)
  def value(number) = number.to_s * (number % 400 == 7 ? 3000 : 5)

  def overwrite(at, bytes) = File.open(@file, "r+b") { |file| file.pwrite(bytes, at) }

  def refusal
    error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(@dir).close }
    assert_kind_of Elah::Store::Damaged, error, error.message
    error.message
  end

  def check(*arguments)
    Open3.capture2e(RbConfig.ruby, "-Ilib", "exe/elah", "store", "check", *arguments,
                    chdir: File.expand_path("../..", __dir__))
  end

  def test_a_sound_store_is_checked_whole
    fill
    text, status = check("--data", @parent)
    assert_predicate status, :success?, text
    assert_match(/\A#{@dir}: no damage, 1\d{3} entries in \d\d+ pages\n\z/, text)
  end

  def test_a_store_that_is_written_meanwhile_is_sound
    fill
    writer = Thread.new do
      store = Elah::Store.open(@dir)
      300.times { |n| store.table("links").put(key(n), "w" * 3000) }
      store.close
    end
    texts = []
    texts << check("--data", @parent) while writer.alive? || texts.size < 2
    texts.each { |text, status| assert_predicate status, :success?, text }
    writer.join
  end

  def test_a_file_that_has_lost_its_bytes_is_no_new_store
    fill
    File.truncate(@file, 0)
    damage = /The store in #{@dir} cannot be opened, since its data\.mdb is damaged: it is empty\./
    assert_match(/#{damage} Stop every process that uses the store, then put a copy in its place, or/, refusal)
    assert_equal 0, File.size(@file)
    [1, 100, PAGE, PAGE + 100].each do |bytes|
      File.binwrite(@file, "\0" * bytes)
      assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(@dir) }
    end
    File.delete(@file)
    Elah::Store.open(@dir).tap { |store| store.table("t").put("k", "v") }.close
    assert_equal 0, Dir[File.join(@dir, "new.*")].size
  end

  # Whoever is killed while a store is made leaves no file, or a whole one.
  def test_a_first_opening_that_is_killed_leaves_a_store_or_none
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    calls = %w[openat pwrite64 writev fdatasync linkat link].freeze
    calls.product([1, 2, 3, 5]).each do |call, nth|
      FileUtils.rm_rf(@dir)
      last = call == "openat" ? nth + 300 : nth
      StoreProcess.trace("Elah::Store.open(ARGV[0])", @dir, trace: call, inject: "#{call}:signal=KILL:when=#{last}")
      store = Elah::Store.open(@dir)
      assert_equal 0, store.table("t").size, "killed at #{call} #{nth}"
      store.close
    end
  end

  def test_headers_that_are_impossible
    fill
    sound = File.binread(@file)
    { "the size of a page" => [40, [4097].pack("L<")],
      "flags" => [44, [9].pack("S<")],
      "depth" => [94, [60].pack("S<")] }.each do |what, (at, bytes)|
      File.binwrite(@file, sound)
      [0, PAGE].each { |page| overwrite(page + at, bytes) }
      assert_match(/a header has impossible values/, refusal, what)
    end
    File.binwrite(@file, sound)
    [0, PAGE].each { |page| overwrite(page + 128, [1 << 40].pack("Q<")) } # the root
    assert_match(/impossible values/, refusal)
    File.binwrite(@file, sound)
    [0, PAGE].each { |page| overwrite(page + 136, [1 << 40].pack("Q<")) } # the last page
    assert_match(/it was cut off/, refusal)
  end

  def test_a_page_that_is_damaged_is_named_and_kept
    fill
    overwrite(10 * PAGE + 12, "\xff\xff\xff\xff".b)
    damaged = File.binread(@file)
    assert_match(/is damaged: page 10 has an impossible header/, refusal)
    assert_equal damaged, File.binread(@file)
    text, status = check(@dir)
    assert_equal 1, status.exitstatus
    assert_match(/page 10 has an impossible header/, text)
    assert_match(/^elah: Damaged or not opened: #{@dir}\. Restore a copy of a damaged folder; see docs/, text)
  end

  READ_ALL = <<~RUBY
    begin
      store = Elah::Store.open(ARGV[0])
      table = store.table("links")
      say table.range(limit: 1_000_000).size
      say table.range(limit: 1_000_000, reverse: true).size
      2000.times { |n| table.get(format("%05d", n)) }
      table.put("k", "v")
    rescue Elah::Store::Error => e
      say e.class
    end
  RUBY

  # Each run flips other bits; ELAH_DAMAGE_SEED repeats one, and ELAH_DAMAGE_ROUNDS has it do more.
  def test_flipped_bits_end_no_process
    fill
    sound = File.binread(@file)
    seed = Integer(ENV.fetch("ELAH_DAMAGE_SEED", Random.new_seed % 1_000_000))
    Integer(ENV.fetch("ELAH_DAMAGE_ROUNDS", 12)).times do |round|
      random = Random.new(seed + round)
      bytes = sound.dup
      (1 << random.rand(8)).times do
        at = random.rand(2) * random.rand(bytes.size)
        at = at / PAGE * PAGE + random.rand(64) if random.rand(2).zero? # where the structure is
        bytes.setbyte(at, bytes.getbyte(at) ^ (1 << random.rand(8)))
      end
      File.binwrite(@file, bytes)
      FileUtils.rm_f(File.join(@dir, "lock.mdb"))
      lines, status = StoreProcess.run(READ_ALL, @dir)
      assert_predicate status, :success?, "ELAH_DAMAGE_SEED=#{seed + round}: #{status} #{lines.last(3).join("\n")}"
    end
  end
end

# frozen_string_literal: true

require "test_helper"
require "open3"
require "socket"
require "tmpdir"

# Constants that several fibers need at once while the file of one waits. On Ruby 3.1 an autoload belongs to the thread:
# all fibers but the first met the class without its methods.
class AutoloadTest < Minitest::Test
  WAITS = {
    sleep: "sleep 0.02",
    pipe: "reader, writer = IO.pipe; Thread.new { sleep 0.02; writer.puts }; reader.gets",
    socket: "one, other = UNIXSocket.pair; Thread.new { sleep 0.02; other.puts }; one.wait_readable(5) or raise",
    timeout: "reader, _writer = IO.pipe; reader.wait_readable(0.02) and raise 'early'",
    write: "IO.pipe.last.wait_writable or raise 'not ready'; sleep 0.02",
    thread: "Elah.offload { sleep 0.02 }",
    queue: "queue = Thread::Queue.new; Thread.new { sleep 0.02; queue << 1 }; queue.pop",
    lock: "lock = Mutex.new; Thread.new { lock.synchronize { sleep 0.02 } }; Thread.pass until lock.locked?; lock.lock",
    several: "reader, writer = IO.pipe; Thread.new { sleep 0.02; writer.puts }; IO.select([reader], nil, nil, 9)",
    process: "system('sleep', '0.02') or raise 'failed'",
    name: "Addrinfo.tcp('localhost', 80).ip? or raise 'no address'"
  }.freeze

  def teardown
    QUEUE.clear
    AutoloadTest.constants(false).grep(/\ALoaded/).each { |name| AutoloadTest.send(:remove_const, name) }
  end

  WAITS.each do |wait, code|
    define_method(:"test_a_file_that_waits_for_#{wait}_is_seen_whole") do
      assert_equal [1, 1, 1], values("class AutoloadTest::Loaded; #{code}; def self.value = 1; end")
    end
  end

  def test_a_file_whose_constant_comes_after_its_wait_is_seen_whole
    assert_equal [1, 1, 1], values("sleep 0.02; class AutoloadTest::Loaded; def self.value = 1; end")
  end

  def test_a_file_that_loads_another_one
    with_file("class AutoloadTest::LoadedToo; sleep 0.02; def self.value = 1; end", :LoadedToo) do
      code = "class AutoloadTest; class Loaded; ONE = LoadedToo.value; def self.value = ONE; end; end"
      assert_equal [1, 1, 1], values(code)
    end
  end

  # A file was loaded by its constant in one thread and by `require_relative` in another: both waited, or the process
  # died.
  def test_threads_use_what_another_one_loads_for_its_first_loop
    script = <<~'RUBY'
      start = Queue.new
      use = lambda do
        start.pop
        200.times { [Elah.current_task, Elah::Async, Elah::Config, Elah::Task] && Thread.pass }
      end
      threads = [*Array.new(3) { Thread.new(&use) }, Thread.new { start.pop && Elah.run { Elah.async { 1 }.value } }]
      threads.size.times { start << true }
      threads.each(&:join)
    RUBY
    8.times do
      out, status = Open3.capture2e("timeout", "60", RbConfig.ruby, "-Ilib", "-relah", "-e", script)
      assert_predicate status, :success?, out
    end
  end

  # The others have to run then: a loop that was blocked here would stay so.
  FOR_OTHERS = {
    queue: "QUEUE.pop",
    file_lock: "File.open(FILE) { |file| file.flock(File::LOCK_EX) }",
    attempts: "sleep 0.5 while QUEUE.empty?"
  }.freeze
  QUEUE = Thread::Queue.new
  FILE = File.join(Dir.tmpdir, "elah-autoload-#{Process.pid}.lock")

  FOR_OTHERS.each do |wait, code|
    define_method(:"test_a_file_may_wait_for_another_fiber_by_#{wait}") do
      with_file("class AutoloadTest; class Loaded; #{code}; VALUE = 1; end; end", :Loaded) do
        Elah.run do
          holder = Elah.async { hold { sleep(0.01) } }
          loading = Elah.async { Loaded::VALUE }
          assert_equal 1, loading.value
          holder.value
        end
      end
    end
  end

  def test_a_file_that_fails_is_tried_again_and_leaves_its_fiber_as_it_was
    with_file("sleep 0.01; raise 'broken'", :Loaded) do
      Elah.run do
        2.times { assert_raises(RuntimeError) { AutoloadTest::Loaded } }
        events = []
        Elah.async { sleep(0.01) && events << :other }
        sleep(0.05)
        assert_equal [:other], events
      end
    end
  end

  private

  # Holds the lock of the file during the block, and fills the queue afterwards.
  def hold
    File.open(FILE, "w") do |file|
      file.flock(File::LOCK_EX)
      yield
      QUEUE << 1
    end
  ensure
    File.unlink(FILE)
  end

  # @return [Array] what three fibers get at once
  def values(code)
    with_file(code, :Loaded) do
      Elah.run { Array.new(3) { Elah.async { AutoloadTest::Loaded.value } }.map(&:value) }
    end
  end

  def with_file(code, name)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "loaded.rb")
      File.write(path, code)
      AutoloadTest.autoload(name, path)
      yield
    end
  end
end

# frozen_string_literal: true

require "test_helper"
require "tempfile"
require "yaml/store"
require "support/patience"

# File#flock in fibers. A fiber that waited for a lock blocked the loop, so the fiber that held the lock across a wait
# never went on: two such requests stopped the server.
class FileLockTest < Minitest::Test
  include Patience

  def setup = @file = Tempfile.create("elah-file-lock")

  def teardown
    @file.close
    File.unlink(@file)
  end

  def test_fibers_that_hold_a_lock_across_a_wait_take_turns
    events = []
    run_bounded do
      fibers = Array.new(3) do |number|
        Elah.async do
          File.open(@file) do |file|
            assert_equal 0, file.flock(File::LOCK_EX)
            events << number
            sleep(0.01)
            events << number
          end
        end
      end
      fibers.each(&:value)
    end
    assert_equal [0, 1, 2], events.each_slice(2).map { |begun, ended| begun if begun == ended }.sort
  end

  # Whoever came while the lock was free won over those who waited: some waited 20 s for a line of 0.4 s.
  def test_fibers_get_the_lock_in_the_order_in_which_they_came
    turns = []
    run_bounded do
      fibers = Array.new(4) do |number|
        Elah.async do
          5.times do
            lock do
              turns << number
              sleep(0.003)
            end
          end
        end
      end
      fibers.each(&:value)
    end
    assert_equal [0, 1, 2, 3] * 5, turns
  end

  # The one who has it would wait behind those who wait for it.
  def test_who_has_the_lock_may_ask_for_it_again_while_another_waits
    run_bounded do
      @file.flock(File::LOCK_EX)
      waiter = locking
      [File::LOCK_EX, File::LOCK_SH, File::LOCK_EX].each { |operation| assert_equal 0, @file.flock(operation) }
      refute_predicate waiter, :done?
      @file.flock(File::LOCK_UN)
      assert_equal 0, waiter.value
    end
  end

  def test_who_waits_for_one_file_is_in_nobodys_way_at_another
    run_bounded do
      @file.flock(File::LOCK_EX)
      waiter = locking
      Tempfile.open { |other| assert_equal 0, other.flock(File::LOCK_EX) }
      File.open(@file) { |other| assert_equal false, other.flock(File::LOCK_SH | File::LOCK_NB) }
      waiter.cancel.wait
      @file.flock(File::LOCK_UN)
      assert_equal(0, lock { 0 })
    end
  end

  def test_a_store_of_yaml_is_changed_by_one_fiber_at_a_time
    run_bounded do
      fibers = Array.new(3) do
        Elah.async do
          YAML::Store.new(@file.path).transaction do |store|
            count = store.fetch(:count, 0)
            sleep(0.01)
            store[:count] = count + 1
          end
        end
      end
      fibers.each(&:value)
    end
    assert_equal 3, YAML::Store.new(@file.path).transaction(true) { |store| store[:count] }
  end

  def test_a_fiber_waits_for_another_process
    script = "f = File.open(ARGV[0]); f.flock(File::LOCK_EX); puts; $stdout.flush; $stdin.read"
    IO.popen([RbConfig.ruby, "-e", script, @file.path], "r+") do |holder|
      holder.gets
      run_bounded do
        waiter = locking
        sleep(0.01)
        refute_predicate waiter, :done?
        holder.close_write
        assert_equal 0, waiter.value
      end
    end
  end

  # Only who waits in the kernel has a place in its line: a fiber that tried again and again rarely met the lock free.
  def test_a_fiber_gets_the_lock_beside_a_process_that_takes_it_again_at_once
    script = "loop { File.open(ARGV[0]) { |f| f.flock(File::LOCK_EX); $stdout.syswrite('.'); sleep 0.01 } }"
    turns = IO.popen([RbConfig.ruby, "-e", script, @file.path]) do |other|
      other.getc
      run_bounded { 20.times { lock { nil } } }
      Process.kill(:KILL, other.pid)
      other.read.size
    end
    assert_operator turns, :<, 150
  end

  def test_a_cancelled_fiber_leaves_no_lock
    run_bounded do
      holder = File.open(@file).tap { |file| file.flock(File::LOCK_EX) }
      kept = File.open(@file)
      assert_raises(Timeout::Error) { Timeout.timeout(0.01) { kept.flock(File::LOCK_EX) } }
      waiter = Elah.async { kept.flock(File::LOCK_EX) }
      waiter.cancel.wait
      holder.close
      assert_equal 0, @file.flock(File::LOCK_EX | File::LOCK_NB)
      kept.close
    end
  end

  def test_a_file_that_is_closed_meanwhile_ends_the_wait
    run_bounded do
      @file.flock(File::LOCK_EX)
      other = File.open(@file)
      waiter = Elah.async { other.flock(File::LOCK_EX) }
      other.close
      assert_raises(IOError) { waiter.value }
    end
  end

  def test_shared_locks_are_granted_together
    run_bounded do
      @file.flock(File::LOCK_SH)
      File.open(@file) do |other|
        assert_equal 0, other.flock(File::LOCK_SH)
        waiter = locking
        other.flock(File::LOCK_UN)
        sleep(0.01)
        refute_predicate waiter, :done?
        @file.flock(File::LOCK_UN)
        assert_equal 0, waiter.value
      end
    end
  end

  def test_who_does_not_want_to_wait_does_not
    run_bounded do
      @file.flock(File::LOCK_EX)
      File.open(@file) { |other| assert_equal false, other.flock(File::LOCK_EX | File::LOCK_NB) }
    end
  end

  def test_what_is_no_operation_is_refused_as_by_ruby
    [nil, "x"].each do |operation|
      assert_raises(TypeError) { @file.flock(operation) }
      assert_raises(TypeError) { Elah.run { @file.flock(operation) } }
    end
  end

  def test_outside_a_loop_the_thread_waits_in_flock_itself
    @file.flock(File::LOCK_EX)
    waiter = Thread.new { File.open(@file) { |other| other.flock(File::LOCK_EX) } }
    wait_until("the thread waits") { waiter.stop? }
    @file.flock(File::LOCK_UN)
    assert_equal 0, waiter.value
  end

  private

  # @return [Elah::Async] that waits for the lock
  def locking = Elah.async { File.open(@file) { |file| file.flock(File::LOCK_EX) } }

  def lock
    File.open(@file) do |file|
      file.flock(File::LOCK_EX)
      yield
    end
  end

  # In a thread, because a loop that is blocked in C never comes back.
  def run_bounded(&block)
    thread = Thread.new { Elah.run(&block) }
    thread.report_on_exception = false
    return thread.value if thread.join(patience_seconds)

    thread.kill
    flunk "The loop is blocked."
  end
end

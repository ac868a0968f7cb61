# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "support/patience"

# Host names whose name server is silent. Eight look-ups of them held up all others of the worker for ten seconds, as
# did ten requests for one such name.
class NameLookupTest < Minitest::Test
  include Patience

  def setup
    @asked = asked = Thread::Queue.new
    @answers = answers = Thread::Queue.new
    @silent_server = Module.new do
      define_method(:addresses) do |name|
        next super(name) unless name.end_with?(".silent")

        asked << name
        answers.pop or raise SocketError, "no answer"
        ["127.0.0.9"]
      end
    end
  end

  def teardown = @answers.close

  def test_silent_names_hold_up_no_other
    run_bounded do
      fibers = Array.new(30) { |number| resolving("#{number}.silent") }
      wait_until("all are asked for") { @asked.size == 30 }
      assert_equal "127.0.0.1", resolving("localhost").value
      fibers.each(&:cancel)
    end
  end

  def test_those_who_wait_for_one_name_share_a_look_up
    run_bounded do
      fibers = Array.new(100) { resolving("one.silent") }
      assert_equal "127.0.0.1", resolving("localhost").value
      @answers << true
      assert_equal ["127.0.0.9"], fibers.map(&:value).uniq
      assert_equal 1, @asked.size
      @answers << true
      assert_equal "127.0.0.9", resolving("one.silent").value
      assert_equal 2, @asked.size
    end
  end

  def test_one_who_is_cancelled_leaves_at_once_and_the_others_get_their_answer
    run_bounded do
      cancelled, other = Array.new(2) { resolving("one.silent") }
      wait_until("it is asked for") { @asked.size == 1 }
      assert_instance_of Elah::Cancelled, cancelled.cancel.wait.error
      @answers << true
      assert_equal "127.0.0.9", other.value
    end
  end

  def test_a_failure_reaches_all_who_wait_and_is_not_kept
    run_bounded do
      fibers = Array.new(2) { resolving("one.silent") }
      @answers << false
      assert_equal(["no answer"] * 2, fibers.map { |fiber| fiber.wait.error.message })
      @answers << true
      assert_equal "127.0.0.9", resolving("one.silent").value
    end
  end

  def test_a_failure_that_nobody_waits_for_is_not_reported
    _, errors = capture_io do
      run_bounded do
        fiber = resolving("one.silent")
        wait_until("it is asked for") { @asked.size == 1 }
        fiber.cancel.wait
        @answers << false
        wait_until("the look-up has ended") { @answers.empty? && @answers.num_waiting.zero? }
        sleep(0.001)
      end
    end
    assert_empty errors
  end

  # They stayed in the queue: a name of /etc/hosts took 44 s after the last of 320 requests had given up.
  def test_a_look_up_that_nobody_waits_for_any_more_never_begins
    run_bounded do
      fibers = occupy_resolvers("early")
      2.times { resolving("late.silent").cancel.wait }
      64.times { @answers << true }
      fibers.each(&:value)
      @answers << true
      assert_equal "127.0.0.9", resolving("late.silent").value
      assert_equal 65, @asked.size
    end
  end

  def test_a_name_that_was_resolved_before_waits_for_no_silent_ones
    run_bounded do
      resolving("localhost").value
      fibers = occupy_resolvers("new")
      assert_equal "127.0.0.1", resolving("localhost").value
      fibers.each(&:cancel)
    end
  end

  private

  # @param prefix [String] the test's own: names that another has resolved occupy no resolver of new names
  # @return [Array<Elah::Async>]
  def occupy_resolvers(prefix)
    fibers = Array.new(64) { |number| resolving("#{prefix}#{number}.silent") }
    wait_until("all are asked for") { @asked.size == 64 }
    fibers
  end

  def run_bounded(&block)
    Elah.run do
      Fiber.scheduler.singleton_class.prepend(@silent_server)
      Timeout.timeout(patience_seconds, &block)
    ensure
      @answers.close
    end
  end

  # @return [Elah::Async] with the first address
  def resolving(name) = Elah.async { Addrinfo.getaddrinfo(name, 80, Socket::AF_INET, :STREAM).first.ip_address }
end

# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"
require "tmpdir"

# A worker that calls itself: all of a link but the other process.
class PeerLinksUnitTest < Minitest::Test
  Deferred = Struct.new(:route, :message)
  # A call takes a minute when garbage is collected at every allocation, and more on a busy machine.
  LONG_SECONDS = 900

  # @yieldparam peer [Elah::PeerLinks::Peer] the worker itself
  def with_links(handler, **options)
    Dir.mktmpdir("elah-links") do |folder|
      Elah.run do
        path = File.join(folder, "own.sock")
        links = Elah::PeerLinks.open(Elah.current_loop, path, config: Elah::Config.build(**options), &handler)
        yield links.peer(path), links
      ensure
        links&.close
      end
    end
  end

  def test_under_gc_stress
    with_links(->(message) { message == :fail ? raise(KeyError, "mine") : [message, "answer"] }) do |peer|
      GC.stress = true
      assert_equal [{ 1 => "x" }, "answer"], peer.call({ 1 => "x" }, LONG_SECONDS)
      results = Elah.gather(deadline: LONG_SECONDS) do |g|
        [1, :fail].each do |message|
          g.call(message, Deferred.new(peer, message), fallback: ->(error) { error.message })
        end
      end
      assert_equal [[1, "answer"], "mine"], results.values
    ensure
      GC.stress = false
    end
  end

  # Has a class that the caller does not know.
  class Unknown
    def _dump(_level) = ""
    def self._load(_bytes) = raise(ArgumentError, "undefined class/module Unknown")
  end

  # It ended the gather.
  def test_a_reply_that_cannot_be_read_is_the_failure_of_its_call
    with_links(->(message) { message == :unknown ? Unknown.new : message }) do |peer|
      results = Elah.gather(deadline: 60) do |gather|
        [1, :unknown].each { |message| gather.call(message, Deferred.new(peer, message), fallback: :none) }
      end
      assert_equal({ 1 => 1, unknown: :none }, results.to_h)
    end
  end

  # Has a class that raises this when it is read, or written.
  class Broken
    def initialize(reads, writes = nil) = (@reads, @writes = reads, writes)
    def _dump(_level) = @writes ? raise(@writes) : @reads.name
    def self._load(name) = raise(Object.const_get(name))
  end

  # Its call had no reply: the caller waited for its deadline, and after some of them called the worker no more.
  def test_an_object_that_cannot_be_read_or_written_fails_its_call_at_once
    with_links(->(message) { message == :broken ? Broken.new(nil, NotImplementedError) : message }) do |peer|
      [LoadError, SyntaxError, SystemStackError, SystemExit].each do |error|
        failure = assert_raises(TypeError) { peer.call(Broken.new(error), 60) }
        assert_match(/cannot be read: #{error}/, failure.message)
        assert_kind_of error, failure.cause
      end
      assert_match(/cannot be written: NotImp/, assert_raises(TypeError) { peer.call(:broken, 60) }.message)
      assert_equal 1, peer.call(1, 60)
    end
  end

  # A worker that was just not reached is not called for a moment. Such calls of a gather were not made again.
  def test_a_gather_gets_the_same_error_from_a_worker_that_was_just_not_reached
    with_links(->(message) { message }) do |_, links|
      peer = links.peer("/nowhere/sock")
      2.times do
        scattered = peer.scatter([Deferred.new(peer, 1)], 60)
        scattered.wait
        outcome, _, error = scattered.outcome(0)
        assert_equal :failed, outcome
        refute_predicate error, :may_have_run?
      end
    end
  end

  # In an `ensure` block after a deadline, which leaves the fiber none, a gather or `call_many` waited for ever.
  def test_calls_of_a_fiber_without_a_deadline_have_the_time_of_a_request
    Elah.config = Elah::Config.build(request_seconds: 0.05)
    with_links(->(_) { Thread::Queue.new.pop }) do |peer|
      left = Elah.async do
        Elah.timeout(0.01) { Thread::Queue.new.pop }
      ensure
        scattered = peer.scatter([Deferred.new(peer, 1)], nil)
        scattered.wait
        assert_equal :late, scattered.outcome(0).first
      end
      assert_instance_of Elah::DeadlineExceeded, left.wait(60)&.error
    end
  ensure
    Elah.config = nil
  end

  def test_one_fiber_runs_a_turns_calls_while_none_waits
    fibers = []
    handler = lambda do |message|
      fibers << Fiber.current
      message == :wait ? Elah.async { turn }.wait.nil? : message
    end
    with_links(handler) do |peer|
      gather = lambda do |*messages|
        results = Elah.gather(deadline: 60) do |g|
          messages.each_with_index { |message, index| g.call(index, Deferred.new(peer, message)) }
        end
        results.values
      end
      assert_equal [*0...50], gather.call(*0...50)
      assert_equal 1, fibers.uniq.size
      gather.call(:wait, 1, :wait, 2, 3)
      assert_operator fibers.last(5).uniq.size, :<=, 3, "one goes on when another waits"
      fibers.clear
      gather.call(*0...50)
      assert_equal 1, fibers.uniq.size
    end
  end

  # Each restart of a worker is a new peer: without this, `links_max` restarts later nobody could be called any more.
  def test_peers_that_are_not_used_any_more_are_forgotten
    with_links(->(message) { message }) do |peer, links|
      waiting = Elah.async { peer.call(2, 60) }
      links.retain_used([])
      assert_equal [peer.address], links.to_h.keys, "an answer is to come"
      assert_equal 2, waiting.value
      links.retain_used([peer])
      assert_equal [peer.address], links.to_h.keys
      links.retain_used([])
      assert_equal [{}, []], [links.to_h, links.states]
    end
  end

  # An answer is what it was when it was given, whatever becomes of the object.
  def test_answers_are_snapshots
    list = []
    with_links(->(number) { list << number }) do |peer|
      results = Elah.gather(deadline: 60) { |g| 3.times { |number| g.call(number, Deferred.new(peer, number)) } }
      assert_equal [[0], [0, 1], [0, 1, 2]], results.values
    end
  end

  # What a call starts ends with it, and what was meant for one call never meets the next of the same fiber.
  def test_a_call_ends_what_it_began
    ended = []
    handler = lambda do |message|
      Elah.async { Queue.new.pop } if message == :start
      Elah.current_loop.current_task.at_end { ended << message }
      message
    end
    with_links(handler) do |peer|
      %i[start next].each { |message| assert_equal message, peer.call(message, 60) }
      assert_equal %i[start next], ended
    end
  end

  def test_a_handler_that_ends_the_worker_ends_it
    assert_raises(SystemExit) do
      with_links(->(_) { exit(3) }) { |peer| assert_raises(SystemExit) { peer.call(1, 60) } }
    end
  end

  def test_without_time_no_call_is_sent
    with_links(->(message) { message }) do |peer|
      assert_raises(Elah::DeadlineExceeded) { peer.call(1, 0) }
      assert_equal({ state: :open, allowance: nil, in_flight: 0, late_calls: 0, limited_calls: 0 }, peer.limiter.to_h)
    end
  end

  def test_quiet_tells_whether_calls_run
    with_links(->(_) { Queue.new.pop }) do |peer, links|
      assert_predicate links, :quiet?
      call = Elah.async { peer.call(60, 60) }
      turn until links.open_incoming == 1
      refute_predicate links, :quiet?
      call.cancel.wait
      turn until links.quiet?
      assert_equal({ connected: true, calls: 0, state: :open },
                   links.to_h.values.first.slice(:connected, :calls, :state))
    end
  end

  def test_links_that_are_closed_end_their_calls
    with_links(->(_) { Queue.new.pop }) do |peer, links|
      calls = Array.new(3) { Elah.async { peer.call(1, 60) } }
      gather = Elah.async { Elah.gather { |g| g.call(:a, Deferred.new(peer, 1), fallback: :none) }.values }
      turn until links.open_incoming == 4
      links.close
      calls.each { |call| assert_predicate assert_raises(Elah::PeerUnavailable) { call.value }, :may_have_run? }
      assert_equal [:none], gather.value
      assert_raises(Elah::PeerUnavailable) { peer.call(1, 60) }
      assert_predicate links, :closed?
    end
  end

  private

  # Lets the loop turn.
  def turn = Fiber.scheduler.yield
end

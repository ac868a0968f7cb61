# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"
require "socket"
require "support/peer_links_case"

# What becomes of calls when the other worker is slow, paused, gone or was never there.
class PeerLinksBadDaysTest < PeerLinksCase
  def test_a_call_without_an_answer_ends_at_its_deadline_and_its_owner_stops
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      assert_equal 1, other.call([:echo, 1], 5)
      error = assert_raises(Elah::DeadlineExceeded) { other.call([:wait_noting_the_end, 60], 0.05) }
      assert_match(/\AThe worker at .* did not reply within 0\.05 s\.\z/, error.message)
      wait_until("the owner has stopped") { other.call([:notes], 5).size == 2 }
      assert_equal [:begun, "Elah::Cancelled"], other.call([:notes], 5)
    end
  end

  # It ran no call any more.
  def test_a_worker_without_a_fiber_for_a_call_refuses_it_and_serves_on
    peer = with_large_stacks { start_peer }
    as_worker do |links|
      other = links.peer(peer.path)
      other.call([:leave_room, 300_000_000], 5)
      results = Elah.gather(deadline: 60) do |g|
        50.times { |n| g.call(n, Deferred.new(other, [:wait, 0.2, :served]), fallback: ->(error) { error.class }) }
      end
      assert_equal [:served, Elah::Overloaded], results.values.uniq
      assert_equal 1, other.call([:echo, 1], 60)
    end
  end

  # Cleaners of /tmp remove it, and systemd the folder of a user who has logged out. Workers that came later called in
  # vain, for good.
  def test_a_worker_whose_socket_is_removed_listens_there_again
    peer = start_peer
    as_worker do |links|
      FileUtils.rm_rf(@folder)
      wait_until("the peer can be called") { echoes?(links.peer(peer.path)) }
      wait_until("this worker says so") { turn && @complaints.any? }
      assert_equal ["The worker's socket #{@folder}/test.sock was removed. It listens there again."], @complaints
    end
  end

  def test_a_socket_whose_folder_cannot_be_made_again_is_reported_once
    start_peer
    as_worker do
      FileUtils.rm_rf(@folder)
      File.write(@folder, "") # stands for a folder that only root may make
      wait_until("this worker says so") { turn && @complaints.any? }
      FileUtils.rm(@folder)
      wait_until("it listens again") { turn && @complaints.size > 1 }
      assert_match(/test.sock was removed, so new workers cannot call it: .+\.\z/, @complaints[0])
      assert_match(/It listens there again/, @complaints[1])
    end
  end

  def echoes?(peer)
    peer.call([:echo, 1], 5)
  rescue Elah::PeerUnavailable
    false
  end

  def test_who_is_cancelled_has_its_call_cancelled
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      fiber = Elah.async { other.call([:wait_noting_the_end, 60], 60) }
      wait_until("it has begun") { other.call([:notes], 5) == [:begun] }
      fiber.cancel.wait
      wait_until("the owner has stopped") { other.call([:notes], 5).size == 2 }
      assert_equal [:begun, "Elah::Cancelled"], other.call([:notes], 5)
      assert_equal [:open, 0], other.limiter.to_h.values_at(:state, :in_flight)
    end
  end

  def test_the_time_that_is_left_travels
    peers = [start_peer, start_peer]
    as_worker do |links|
      other = links.peer(peers[0].path)
      assert_in_delta 60, other.call([:seconds_left], 60), 30
      assert_operator other.call([:forward, peers[1].path, [:seconds_left], 300], 60), :<=, 60, "the shorter one counts"
      assert_operator Elah.timeout(60) { other.call([:seconds_left], 300) }, :<=, 60
    end
  end

  def test_who_is_killed_is_told_of_at_once_and_is_back_when_it_is_back
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      waiting = Array.new(20) { Elah.async { other.call([:wait, 60, 1], 60) } }
      wait_until("all have begun") { other.call([:links], 5) == [21, 0] }
      peer.kill
      errors = waiting.map { |fiber| assert_raises(Elah::PeerUnavailable) { fiber.value } }
      assert errors.all?(&:may_have_run?)
      error = assert_raises(Elah::PeerUnavailable) { other.call([:echo, 1], 5) }
      refute_predicate error, :may_have_run?
      assert_equal [503, "peer_unavailable"], [error.status, error.code]
      assert_match(/cannot be reached: Connection refused/, error.message)
      peer.start
      assert_equal(1, once_available { other.call([:echo, 1], 5) })
    end
  end

  def test_a_peer_that_never_was_costs_nobody_any_time
    as_worker do |links|
      other = links.peer(File.join(@folder, "nobody.sock"))
      errors = Array.new(1000) { assert_raises(Elah::PeerUnavailable) { other.call(:hello, 60) } }
      assert errors.none?(&:may_have_run?)
      assert_match(/No such file/, errors.last.message)
      results = Elah.gather { |g| g.call(:a, Deferred.new(other, 1), fallback: :none) }
      assert_equal [:failed, :none], [results[:a].outcome, results[:a].value]
    end
  end

  # Calls end at their deadline while it sleeps, later ones at once; none of those that nobody waits for is run when it
  # wakes.
  def test_a_paused_worker_is_limited_and_open_again_when_it_goes_on
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      assert_equal :ready, other.call([:echo, :ready], 5)
      peer.pause
      late = Array.new(100) do |index|
        Elah.async { assert_raises(Elah::DeadlineExceeded) { other.call([:note, index], 0.05) } }
      end
      late.each(&:value)
      assert_equal :probing, other.limiter.state
      outcomes = Array.new(20) do
        parts = Elah.gather(deadline: 0.05) do |g|
          5.times { |index| g.call(index, Deferred.new(other, [:note, index]), fallback: 0) }
        end
        parts.map(&:outcome).uniq
      end
      assert_includes outcomes, [:limited]
      assert_equal([], outcomes.uniq - [[:limited], [:late]])
      limited = assert_raises(Elah::PeerLimited) { 1000.times { call_in_time(other, [:note, 0]) } }
      assert_equal [503, "peer_limited"], [limited.status, limited.code]
      state = links.to_h.fetch(peer.path)
      assert_equal [true, :probing, 1], state.values_at(:connected, :state, :allowance)
      assert_operator state[:limited_calls], :>, 0

      peer.continue
      wait_until("it is open") { call_in_time(other, [:echo, 1], limited: nil) && other.limiter.state == :open }
      assert_empty other.call([:notes], 5), "what nobody waits for is not run"
    end
  end

  def test_a_peer_that_accepts_and_never_answers_is_a_slow_one
    path = File.join(@folder, "silent.sock")
    listener = UNIXServer.new(path)
    as_worker do |links|
      other = links.peer(path)
      8.times { call_in_time(other, 1, limited: nil) }
      assert_equal :probing, other.limiter.state
    end
  ensure
    listener&.close
  end

  def test_what_was_raised_there_is_raised_here
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      error = assert_raises(KeyError) { other.call([:fail, "KeyError", "mine"], 5) }
      line = __LINE__ - 1
      assert_equal ["mine", ArgumentError, "the cause"], [error.message, error.cause.class, error.cause.message]
      there, here = error.backtrace.slice_after(/worker called from/).to_a
      assert_match(/apps.peer\.rb:\d+:in [`'].*fail'/, there.first)
      assert_match(/#{File.basename(__FILE__)}:#{line}/, here.join("\n"))

      bad = assert_raises(Elah::BadRequest) { other.call([:fail_as_bad_request], 5) }
      assert_equal ["no such pool", 404, "no_pool"], [bad.message, bad.status, bad.code]
      partial = assert_raises(ArgumentError) { other.call([:fail_with_an_object_that_cannot_be_written], 5) }
      assert_equal ["it holds a Proc", 7, nil],
                   [partial.message, partial.instance_variable_get(:@number), partial.instance_variable_get(:@proc)]
      remote = assert_raises(Elah::RemoteError) { other.call([:fail, "OnlyHere", "unknown"], 5) }
      assert_equal %w[OnlyHere unknown], [remote.remote_class, remote.message]
      assert_raises(NoMethodError) { other.call([:no_such_method], 5) }
      assert_raises(TypeError, "the answer cannot be written") { other.call([:a_proc], 5) }
      assert_raises(TypeError, "the message cannot be written") { other.call([:echo, -> {}], 5) }
      unknown = Marshal.dump([:echo, 1]).sub("echo", "ech\x00")
      assert_kind_of String, unknown
      assert_equal 1, other.call([:echo, 1], 5)
    end
  end

  private

  # So that there is room for other things when there is none for a fiber.
  def with_large_stacks
    ENV["RUBY_FIBER_MACHINE_STACK_SIZE"] = "32000000"
    yield
  ensure
    ENV.delete("RUBY_FIBER_MACHINE_STACK_SIZE")
  end
end

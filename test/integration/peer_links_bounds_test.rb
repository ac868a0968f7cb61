# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"
require "socket"
require "support/peer_links_case"

# What becomes of calls that are too many or too long.
class PeerLinksBoundsTest < PeerLinksCase
  def test_calls_that_do_not_fit_fail_at_once
    peer = start_peer
    as_worker(link_calls_max: 10, link_waiting_bytes_max: 100_000, link_payload_bytes_max: 50_000) do |links|
      other = links.peer(peer.path)
      assert_equal 1, other.call([:echo, 1], 5)
      waiting = Array.new(10) { Elah.async { other.call([:wait, 60, 1], 60) } }
      error = assert_raises(Elah::Overloaded) { other.call([:echo, 1], 5) }
      assert_match(/\A10 calls to this worker have no reply yet/, error.message)
      waiting.each { |fiber| fiber.cancel.wait }
      error = assert_raises(Elah::PeerLinks::TooLong) { other.call([:echo, "x" * 50_000], 5) }
      assert_match(/at most 50000 are allowed/, error.message)
      peer.pause
      calls = Array.new(40) { Elah.async { other.call([:length, "x" * 40_000], 0.2) } }
      errors = calls.map { |fiber| fiber.wait.error }
      assert_equal [Elah::Overloaded, Elah::PeerLinks::Late], errors.map(&:class).uniq.sort_by(&:name)
      assert_equal ["100000 bytes of calls wait to be sent to this worker."],
                   errors.grep(Elah::Overloaded).map(&:message).uniq
      peer.continue
      wait_until("it is open") { call_in_time(other, [:echo, 1], limited: nil) == 1 }
    end
  end

  def test_a_worker_runs_no_more_calls_than_it_may
    peer = start_peer(link_calls_max: 5)
    as_worker do |links|
      other = links.peer(peer.path)
      waiting = Array.new(8) { Elah.async { other.call([:wait, 0.2, 1], 60) } }
      outcomes = waiting.map { |fiber| fiber.wait.error&.message || fiber.value }
      assert_equal [1] * 5 + ["The worker at #{peer.path} runs too many calls already."] * 3, outcomes.sort_by(&:to_s)
      assert_equal 1, other.call([:echo, 1], 5)
    end
  end

  def test_answers_that_are_too_long_say_so
    peer = start_peer(link_payload_bytes_max: 1000)
    as_worker do |links|
      other = links.peer(peer.path)
      error = assert_raises(Elah::PeerLinks::TooLong) { other.call([:text, 1000], 5) }
      assert_match(/\AThe call has run, but its reply has \d+ bytes: link_payload_bytes_max allows 1000/, error.message)
      results = Elah.gather(deadline: 5) { |g| 20.times { |index| g.call(index, Deferred.new(other, [:text, 100])) } }
      assert_equal [Elah::PeerLinks::TooLong] * 20, results.map { |result| result.error.class }, "all of one part"
      assert_equal 900, other.call([:text, 900], 5).size
    end
  end

  # As an object of another release. Its error ended the gather, and the results of all other calls were lost.
  def test_a_result_that_cannot_be_loaded_is_the_failure_of_its_call
    changed = Class.new { define_method(:marshal_load) { |_| raise KeyError, "a release of before" } }
    Object.const_set(:Changed, changed)
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      assert_raises(KeyError) { other.call([:changed], patience_seconds) }
      results = Elah.gather do |g|
        g.call(:changed, Deferred.new(other, [:changed]))
        g.call(:own) { 2 }
      end
      assert_equal [KeyError, 2], [results[:changed].error.class, results[:own].value]
    end
  ensure
    Object.send(:remove_const, :Changed)
  end

  # The other worker closed the link, with all its calls, and the call was sent again and again.
  def test_a_call_or_reply_that_is_too_long_for_the_other_worker_fails_alone
    [[{ link_payload_bytes_max: 1000 }, {}, [:length, "x" * 5_000_000], /has not run the call/],
     [{}, { link_payload_bytes_max: 1000 }, [:text, 5_000_000], /has run the call, but its reply/]]
      .each do |its_options, own_options, long, refusal|
      peer = start_peer(**its_options)
      as_worker(**own_options) do |links|
        other = links.peer(peer.path)
        before = Elah.async { other.call([:wait, 0.5, 1], patience_seconds) }
        error = assert_raises(Elah::PeerLinks::TooLong) { other.call(long, patience_seconds) }
        assert_match refusal, error.message
        assert_equal [1, 2], [before.value, other.call([:echo, 2], patience_seconds)]
        assert_empty @complaints
      end
    end
  end

  # Who does not read what it asked for is not read from, and what does not fit is dropped with a word.
  def test_an_owner_holds_a_bounded_number_of_bytes_for_who_does_not_read
    peer = start_peer(link_waiting_bytes_max: 1_000_000)
    socket = UNIXSocket.new(peer.path)
    socket.write(HELLO)
    500.times { |id| socket.write(call_frame(id, Marshal.dump([:text, 100_000]))) }
    as_worker do |links|
      other = links.peer(peer.path)
      wait_until("all have run") { other.call([:links], 5).first == 1 }
      assert_operator other.call([:links], 5).last, :<=, 1_100_000
    end
  ensure
    socket&.close
  end

  def test_links_to_workers_that_are_gone_are_forgotten
    peers = [start_peer, start_peer]
    as_worker(links_max: 2) do |links|
      peers.each { |peer| assert_equal 1, links.peer(peer.path).call([:echo, 1], 5) }
      assert_raises(Elah::Overloaded) { links.peer(File.join(@folder, "third.sock")).call(1, 5) }
      waiting = Elah.async { links.peer(peers[1].path).call([:wait, 60, 1], 60) }
      links.retain([peers[0].path])
      assert_raises(Elah::PeerUnavailable) { waiting.value }
      assert_equal [peers[0].path], links.to_h.keys
      assert_equal 1, links.peer(peers[0].path).call([:echo, 1], 5)
    end
  end

  # No time was left for them, so what they had taken at the other worker was never given back.
  def test_ensure_blocks_call_after_a_limit_has_passed
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      noting = lambda do |note, &wait|
        wait.call
      ensure
        other.call([:note, note], patience_seconds)
      end
      never = Queue.new
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { noting.(1) { Elah.timeout(1000) { never.pop } } } }
      Elah.gather(deadline: 0.01) { |g| g.call(:late, fallback: nil) { noting.(2) { never.pop } } }
      wait_until("both are noted") { turn && other.call([:notes], patience_seconds) == [1, 2] }
    end
  end

  # The call was cancelled at the other worker in the middle of the block that nothing should cancel.
  def test_a_call_in_a_shield_outlives_the_deadline_around_it
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      replies = []
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.05) do
          Elah.shield { replies << other.call([:wait, 0.2, 1], patience_seconds) }
        end
      end
      assert_equal [1], replies
    end
  end
end

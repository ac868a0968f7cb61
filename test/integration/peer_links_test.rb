# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"
require "support/peer_links_case"

class PeerLinksTest < PeerLinksCase
  def test_a_call_is_answered_whatever_it_carries
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      values = [1, nil, false, :symbol, "text", "\xFF".b, 2.5, { a: [1, { "b" => nil }] }, [["x"]], 1..3, "x" * 100_000]
      assert_equal values, values.map { |value| other.call([:echo, value], 5) }
      together = Elah.gather { |g| values.each { |value| g.call(value, Deferred.new(other, [:echo, value])) } }
      assert_equal values, together.values
      assert_same other, links.peer(peer.path)
      assert_equal [:called, 1], links.peer(File.join(@folder, "test.sock")).call(1, 5), "a worker may call itself"
    end
  end

  # A fiber that runs calls runs many, and fiber-locals of one call were seen by the next.
  def test_a_call_leaves_nothing_in_its_fiber
    peer = start_peer
    as_worker { |links| assert_equal [[], []], Array.new(2) { links.peer(peer.path).call([:keep_in_the_fiber, 1], 5) } }
  end

  def test_answers_find_their_callers_in_whatever_order_they_come
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      order = []
      fibers = Array.new(200) do |index|
        Elah.async { other.call([:wait, (200 - index) / 2000.0, index], 10).tap { order << index } }
      end
      assert_equal [*0...200], fibers.map(&:value)
      refute_equal order.sort, order, "the last ones were answered first"
    end
  end

  def test_thousands_of_calls_of_three_workers_side_by_side
    peers = Array.new(3) { start_peer }
    as_worker do |links|
      fibers = Array.new(60) do |index|
        Elah.async do
          Array.new(50) do |turn|
            target, by = peers.rotate(index + turn).first(2)
            links.peer(by.path).call([:forward, target.path, [:echo, [index, turn]], 10], 10)
          end
        end
      end
      assert_equal Array.new(60) { |index| Array.new(50) { |turn| [index, turn] } }, fibers.map(&:value)
    end
  end

  def test_a_gather_sends_many_calls_in_one_frame_and_collects_what_comes
    peers = [start_peer, start_peer]
    as_worker do |links|
      routes = peers.map { |peer| links.peer(peer.path) }
      results = Elah.gather(deadline: 1) do |g|
        200.times { |index| g.call(index, Deferred.new(routes[index % 2], [:echo, index])) }
        g.call(:slow, Deferred.new(routes[0], [:wait, 60, 0]), fallback: :none)
        g.call(:brief, Deferred.new(routes[0], [:wait, 0.01, :waited]))
        g.call(:broken, Deferred.new(routes[1], [:fail, "KeyError", "mine"]),
               fallback: ->(error) { [error.class, error.message] })
      end
      assert_equal [*0...200, :none, :waited, [KeyError, "mine"]], results.values
      assert_equal %i[late returned failed], results.to_a.last(3).map(&:outcome)
      assert_equal 0, routes[0].limiter.to_h[:late_calls], "a worker that has replied to some of them is not slow"
      wait_until("the owner was told") { routes[0].call([:links], 5) == [1, 0] }
    end
  end
end

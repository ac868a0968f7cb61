# frozen_string_literal: true

require "test_helper"
require "elah/entity"
require "elah/entity/peer_links"
require "support/entity_case"
require "tmpdir"

# Which worker a slot leads to, as the board changes.
class EntityPeersTest < Minitest::Test
  # What is said of the slots; the test changes it.
  Slots = Struct.new(:generations, :version, :folder) do
    def generation_of(slot) = generations[slot]
    def link_path(slot, generation) = File.join(folder, "#{slot}.#{generation}")
    def own_path = link_path(0, generations[0])
    def network? = false
  end

  # At the boot of a server, and when a worker had been killed, a slot that was asked for had nobody. That was
  # remembered in the place of a worker, and the request that met the next change of the board was answered 500.
  def test_a_slot_that_had_nobody_is_looked_at_again
    Dir.mktmpdir do |folder|
      slots = Slots.new([1, 0], 1, folder)
      Elah.run do
        links = Elah::PeerLinks.open(Elah.current_loop, File.join(folder, "own")) { |message| message }
        peers = Elah::Entity::Peers.new(links, slots, nil)
        assert_nil peers.owner(1)
        assert_empty peers.limiters
        assert_nil peers.identify("shop", 7), "without a port for other machines"
        slots.generations[1] = 2
        slots.version += 1
        assert_equal File.join(folder, "1.2"), peers.owner(1).address
        assert_equal [1], peers.limiters.keys
      ensure
        links&.close
      end
    end
  end

  # Of a loop: the timers, which the test ends.
  Timers = Struct.new(:ends) do
    def new_wait = Object.new
    def after_wait(_wait, &ending) = ends.push(ending)
    def start_timer(_wait, _seconds) = nil
  end

  # Workers of a server stop one after the other. The time of the first for its last replies ended calls of the second.
  def test_each_worker_that_leaves_has_its_own_time_for_its_last_replies
    Dir.mktmpdir do |folder|
      slots = Slots.new([1, 1, 1], 1, folder)
      def slots.network? = true
      def slots.vanished?(_slot) = false
      Elah.run do
        begun, gate = Array.new(2) { Thread::Queue.new }
        own, = all = Array.new(3) do |slot|
          Elah::PeerLinks.open(Elah.current_loop, slots.link_path(slot, 1)) { |message| begun << message && gate.pop }
        end
        peers = Elah::Entity::Peers.new(own, slots, timers = Timers.new([]))
        first, second = [1, 2].map { |slot| peers.owner(slot) }
        calls = [first, second].map { |peer| Elah.async { peer.call("call", 60) } }
        2.times { begun.pop }
        [1, 2].each do |slot|
          slots.generations[slot] = 0
          slots.version += 1
          peers.owner(slot)
        end
        timers.ends.shift.call
        assert_raises(Elah::PeerUnavailable) { calls[0].value }
        2.times { gate << "reply" }
        assert_equal "reply", calls[1].value
        timers.ends.shift.call
        assert_empty own.to_h
      ensure
        all&.each(&:close)
      end
    end
  end

  # Its calls waited in the other loop, which ended with a NoMethodError, or as a task of that loop.
  def test_a_second_loop_of_a_process_is_refused
    Dir.mktmpdir do |folder|
      slots = Slots.new([1], 1, folder)
      Elah.run do
        peers = Elah::Entity::Peers.open(Elah.current_loop, slots)
        assert_same peers, Elah::Entity::Peers.open(Elah.current_loop, slots)
        other = Thread.new do
          Elah.run { assert_raises(Elah::OutsideLoop) { Elah::Entity::Peers.open(Elah.current_loop, slots) } }
        end
        assert_match(/Another loop/, other.value.message)
      end
    end
  end
end

# Calls of other workers that reach one which has closed the store already.
class EntityLeavingTest < EntityCase
  def setup
    super
    @accounts["1"].deposit(1)
    @store.close
  end

  # Nothing of them is stored, so the caller makes them again at the next owner.
  def test_they_have_not_run
    assert_raises(Elah::Entity::Moved) { @accounts.serve([], "1", :deposit, [1]) }
    assert_raises(Elah::Entity::Moved) { @accounts.serve(["others"], "2", :balance, []) }
    replies = @accounts.serve_many([], [["1", :deposit, 1], ["2", :balance]])
    assert_equal [Elah::Entity::Moved] * 2, replies.map(&:class)
  end

  def test_an_own_call_says_that_the_store_is_closed
    assert_raises(Elah::Store::Closed) { @accounts["1"].deposit(1) }
  end
end

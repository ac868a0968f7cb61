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

# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../stores/mongo"

# The query that the draws of one iteration share, over a collection that records its queries.
class ItemsMongoSharedDrawsTest < Minitest::Test
  # Has the positions 0 to 999; the block may wait or raise.
  class Asked
    attr_reader :queries

    def initialize(&block)
      @queries = []
      @block = block
    end

    def find(filter, projection:)
      ids = filter.fetch("_id").fetch("$in")
      @queries << ids
      @block&.call(@queries.size)
      ids.select { |id| id < 1000 }.map do |id|
        if id.negative?
          { "_id" => id, "n" => { "=" => 1000 } }
        else
          { "_id" => id, "d" => "document #{id}" }.slice("_id", *projection.keys)
        end
      end
    end
  end

  def looks(&block)
    @asked = Asked.new(&block)
    Items::Stores::Mongo::SharedDraws.new(@asked)
  end

  # The result of each of some concurrent draws, or the class of its exception.
  def together(looks, positions)
    Elah.run do
      positions.map { |position| Elah.async { looks.fetch(position) } }.map { |draw| draw.value rescue $!.class }
    end
  end

  def test_draws_of_one_iteration_are_one_query
    found = together(looks, [4, 7, 4, 1000])
    assert_equal [[-1, 4, 7, 1000]], @asked.queries
    assert_equal ["document 4", "document 7", "document 4", nil], found.map(&:last)
    assert_equal [{ "=" => 1000 }], found.map { |state, _| state["n"] }.uniq
  end

  def test_draws_of_another_iteration_have_their_own_query
    looks = looks()
    Elah.run { 3.times { |position| looks.fetch(position) } }
    looks.fetch(3)
    assert_equal [[-1, 0], [-1, 1], [-1, 2], [-1, 3]], @asked.queries
  end

  def test_a_running_query_accepts_no_further_draws
    began, go_on = Array.new(2) { Queue.new }
    looks = looks { |number| number == 1 && began.push(true) && go_on.pop }
    Elah.run do
      first = Elah.async { looks.fetch(1) }
      began.pop
      assert_equal "document 2", looks.fetch(2).last
      go_on << true
      assert_equal "document 1", first.value.last
    end
    assert_equal [[-1, 1], [-1, 2]], @asked.queries
  end

  def test_no_query_requests_more_documents_than_a_batch_has
    found = together(looks, (0...250).to_a)
    assert_equal [101, 101, 51], @asked.queries.map(&:size)
    assert_equal (0...250).map { |position| "document #{position}" }, found.map(&:last)
  end

  def test_all_draws_of_a_query_get_its_error
    assert_equal [Elah::QueryTimeout] * 3, together(looks { raise Elah::QueryTimeout, "late" }, [1, 2, 3])
    assert_equal 1, @asked.queries.size
  end

  def test_draws_whose_query_was_cancelled_query_again
    began, never = Array.new(2) { Queue.new }
    looks = looks { |number| number == 1 && began.push(true) && never.pop }
    Elah.run do
      first, *others = [1, 2, 3].map { |position| Elah.async { looks.fetch(position) } }
      began.pop
      first.cancel
      assert_equal ["document 2", "document 3"], others.map { |draw| draw.value.last }
      assert_raises(Elah::Cancelled) { first.value }
    end
    assert_equal [[-1, 1, 2, 3], [-1, 2, 3]], @asked.queries
  end

  def test_a_draw_cancelled_before_its_query_does_not_affect_the_others
    looks = looks()
    Elah.run do
      first, other = [1, 2].map { |position| Elah.async { looks.fetch(position) } }
      first.cancel
      assert_equal "document 2", other.value.last
    end
    assert_equal [[-1, 2]], @asked.queries
  end
end

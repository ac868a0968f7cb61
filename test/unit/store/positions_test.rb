# frozen_string_literal: true

# Covers Elah::Store::Table#at and #respond_at: the size of a table whose keys are positions, and the entry at one.
require "test_helper"
require "support/store_case"

module StorePositionsCases
  def test_size_and_value
    assert_equal [0, nil], @table.at(0)
    fill(3)
    assert_equal [[3, "0"], [3, "2"], [3, nil]], [0, 2, 3].map { |position| @table.at(position) }
    assert_equal [3, nil], @table.at(2**64 - 1)
    assert_equal Encoding::BINARY, @table.at(0).last.encoding
  end

  # The size is remembered until the next commit, whichever table that writes to.
  def test_size_follows_each_commit
    fill(2)
    assert_equal [2, "1"], @table.at(1)
    @store.table("other").put("a", "1")
    assert_equal [2, "1"], @table.at(1)
    @table.delete(key(1))
    assert_equal [1, nil], @table.at(1)
    @store.close
    again = open_again
    assert_equal [1, "0"], again.table(@table.name).at(0)
    again.close
  end

  def test_bad_arguments
    assert_raises(TypeError) { @table.at("0") }
    assert_raises(TypeError) { @table.at(nil) }
    assert_raises(TypeError) { @table.at(1.5) }
    assert_raises(RangeError) { @table.at(-1) }
    assert_raises(RangeError) { @table.at(2**64) }
    @store.close
    assert_raises(Elah::Store::Closed) { @table.at(0) }
  end

  # What is not the server's own request is answered through its `respond`.
  Asked = Struct.new(:answer) do
    def respond(*answer) = self.answer = answer
  end

  def test_a_request_is_answered_if_the_size_is_right
    fill(3)
    request = Asked.new
    headers = { "content-type" => "text/plain" }
    assert_nil @table.respond_at(request, 200, headers, 2, 4)
    assert_nil @table.respond_at(request, 200, headers, 3, 3)
    assert_nil request.answer
    assert_equal [203, headers, "2"], @table.respond_at(request, 203, headers, 2, 3)
    assert_equal Encoding::BINARY, request.answer.last.encoding
    assert_raises(NoMethodError) { @table.respond_at(nil, 200, headers, 2, 3) }
    assert_raises(TypeError) { @table.respond_at(request, 200, headers, "2", 3) }
    assert_raises(TypeError) { @table.respond_at(request, 200, headers, 2, 3.0) }
    assert_raises(RangeError) { @table.respond_at(request, 200, headers, 2, -1) }
    @store.close
    assert_raises(Elah::Store::Closed) { @table.respond_at(request, 200, headers, 2, 3) }
  end

  # Two reads of their own would see the size before a write and the entry after it.
  def test_both_are_of_one_moment
    writer = Thread.new do
      40.times do
        @table.put(key(0), "only")
        @table.delete(key(0))
      end
    end
    seen = []
    seen << @table.at(0) while writer.alive?
    writer.join
    assert_empty seen.uniq - [[0, nil], [1, "only"]]
  end

  def test_gc_stress
    fill(1)
    GC.stress = true
    found = @table.at(0)
    GC.stress = false
    assert_equal [1, "0"], found
  ensure
    GC.stress = false
  end

  private

  def key(position) = [position].pack("Q>")

  def fill(number)
    @store.transaction { |tx| number.times { |position| tx.put(@table, key(position), position.to_s) } }
  end
end

StoreCase.on_each_store(StorePositionsCases)

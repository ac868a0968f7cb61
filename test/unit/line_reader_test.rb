# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../apps/line_reader"

# Lines of a body that arrives in pieces.
class LineReaderTest < Minitest::Test
  BYTES_MAX = 1000

  # A body in the pieces of an Array.
  Pieces = Struct.new(:pieces) do
    def each_body_chunk(&block) = pieces.each { |piece| block.call(piece.b) }
  end

  def test_lines_are_the_same_wherever_the_body_is_cut
    text = "ab\r\n\nüc\nlast"
    expected = ["ab", "", "üc", "last"]
    (0..text.bytesize).to_a.repeated_combination(2) do |first, second|
      pieces = [text.byteslice(0...first), text.byteslice(first...second), text.byteslice(second..)]
      assert_equal expected, lines(pieces), pieces.inspect
    end
  end

  def test_a_final_line_end_makes_no_further_line
    assert_equal %w[a], lines(["a\n"])
    assert_equal [], lines([])
    assert_equal [""], lines(["\n"])
  end

  def test_a_line_that_is_too_long_is_reported_and_not_stored
    long = "x" * (BYTES_MAX + 1)
    assert_equal [:too_long, "a"], lines(["#{long}\na"])
    assert_equal ["b", :too_long, "a"], lines(["b\n", long, long, long, "\na\n"])
    assert_equal ["b", :too_long], lines(["b\n#{long}", "x"])
    assert_equal [long[1..]], lines([long[1..]])
  end

  private

  def lines(pieces) = [].tap { |all| LineReader.new(Pieces.new(pieces), BYTES_MAX).each { |line| all << line } }
end

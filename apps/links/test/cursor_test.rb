# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../cursor"

# Places in a listing, as text.
class CursorTest < Minitest::Test
  def test_cursors_decode_to_their_place_only
    200.times do |length|
      place = Random.new(length).bytes(length + 1)
      text = Links::Cursor.encode(place)
      assert_match(/\A[A-Za-z0-9_-]+\z/, text)
      assert_equal place, Links::Cursor.decode(text)
    end
    ["", "!", "a", "a=", "ab cd", "%"].each { |text| assert_nil Links::Cursor.decode(text), text }
  end
end

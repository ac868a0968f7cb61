# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../e164"

# Telephone numbers in all the ways in which people write them.
class E164Test < Minitest::Test
  E164 = RingPools::E164

  def test_ways_to_write_one_number
    ["+18883906665", "18883906665", "8883906665", "888-390-6665", "(888) 390-6665", "1 (888) 390.6665",
     "+1 888 390 6665"].each do |text|
      assert_equal 18_883_906_665, E164.parse(text), text
    end
    assert_equal 442_079_460_000, E164.parse("+44 20 7946 0000")
  end

  def test_invalid_numbers
    ["", "911", "888390666", "88839066655555555", "+0888390666", "888-390-666x", "+1 188 390 6665", "+1 888 190 6665",
     "٨٨٨٣٩٠٦٦٦٥"].each do |text|
      assert_nil E164.parse(text), text
    end
  end

  # One of 10 MB held all requests of its worker for seconds.
  def test_a_long_text_is_refused_unread
    text = Class.new(String) { %i[gsub match? start_with?].each { |name| define_method(name) { |*| raise name.to_s } } }
    assert_nil E164.parse(text.new("+1 888 390 6665#{' ' * 50}"))
  end

  def test_forms
    assert_equal ["+18883906665", "8883906665", "888-390-6665"],
                 [E164.format(18_883_906_665), E164.national(18_883_906_665), E164.formatted(18_883_906_665)]
    assert_equal ["+442079460000", "442079460000", "+442079460000"],
                 [E164.format(442_079_460_000), E164.national(442_079_460_000), E164.formatted(442_079_460_000)]
  end
end

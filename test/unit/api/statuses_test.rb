# frozen_string_literal: true

require "support/api_case"

# Names of statuses.
class APIStatusesTest < Minitest::Test
  Statuses = Elah::Framework::Statuses

  def test_numbers_of_symbols
    assert_equal 404, Statuses.number(:not_found)
    assert_equal 422, Statuses.number(:unprocessable_entity)
    error = assert_raises(ArgumentError) { Statuses.number(:no_such) }
    assert_match(/no_such/, error.message)
  end

  def test_phrases_and_codes
    assert_equal "Too Many Requests", Statuses.phrase(429)
    assert_equal "too_many_requests", Statuses.code(429)
    assert_equal "status_499", Statuses.code(499)
    assert_equal "Status 499", Statuses.phrase(499)
  end

  def test_which_have_no_body
    assert_equal [100, 204, 205, 304], [100, 200, 204, 205, 304, 404].select { |status| Statuses.bodiless?(status) }
  end
end

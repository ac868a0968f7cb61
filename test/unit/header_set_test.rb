# frozen_string_literal: true

require_relative "../test_helper"

# Headers that are checked once.
class HeaderSetTest < Minitest::Test
  def test_gives_back_what_it_was_made_of
    headers = { "cache-control" => "no-store", "vary" => %w[accept cookie], "x-name" => "ü" }
    assert_equal headers, Elah::HeaderSet.new(headers).to_h
  end

  def test_refuses_what_would_end_the_line
    assert_raises(Elah::InvalidHeader) { Elah::HeaderSet.new({ "location" => "/\r\nset-cookie: a=b" }) }
  end
end

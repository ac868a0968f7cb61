# frozen_string_literal: true

require "test_helper"
require_relative "../client_address"

class ClientAddressTest < Minitest::Test
  def of(peer, forwarded, proxies = %w[10.0.0.0/8 fd00::/8]) = Stats::ClientAddress.new(proxies).of(peer, forwarded)

  def test_without_trusted_proxies_the_header_is_ignored
    assert_equal "203.0.113.7", of("203.0.113.7", "198.51.100.1", [])
  end

  def test_a_client_cannot_forge_its_address
    assert_equal "203.0.113.7", of("203.0.113.7", "198.51.100.1")
    assert_equal "203.0.113.7", of("203.0.113.7", "198.51.100.1, 10.0.0.1")
  end

  def test_only_addresses_added_by_trusted_proxies_count
    assert_equal "203.0.113.7", of("10.0.0.1", "203.0.113.7")
    assert_equal "203.0.113.7", of("10.0.0.1", "198.51.100.1, 203.0.113.7")
    assert_equal "203.0.113.7", of("10.0.0.1", "198.51.100.1, 203.0.113.7, 10.0.0.2")
    assert_equal "203.0.113.7", of("::ffff:10.0.0.1", "203.0.113.7")
    assert_equal "2001:db8::1", of("fd00::1", "[2001:db8::1]:4711")
    assert_equal "203.0.113.7", of("10.0.0.1", "203.0.113.7:4711")
  end

  def test_an_invalid_entry_ends_at_its_sender
    assert_equal "10.0.0.1", of("10.0.0.1", "unknown")
    assert_equal "10.0.0.2", of("10.0.0.1", "<script>, 10.0.0.2")
    assert_equal "10.0.0.1", of("10.0.0.1", "203.0.113.7, #{'1' * 2000}")
    assert_equal "10.0.0.1", of("10.0.0.1", nil)
  end

  def test_a_unix_socket_is_this_machine
    assert_equal "127.0.0.1", of(nil, "203.0.113.7")
    assert_equal "203.0.113.7", of(nil, "203.0.113.7", ["127.0.0.1"])
  end

  def test_invalid_networks_are_refused_at_boot
    assert_raises(Elah::OptionError) { Stats::ClientAddress.new(["10.0.0.0/99"]) }
  end
end

# frozen_string_literal: true

require "test_helper"

# The bounds of the three native clients, which are checked in one place.
class ClientBoundsTest < Minitest::Test
  CLIENTS = {
    Elah::SQL => ["postgres://me@127.0.0.1/x", :query_seconds],
    Elah::Mongo => ["mongodb://127.0.0.1/x", :query_seconds],
    Elah::Redis => ["redis://127.0.0.1", :command_seconds]
  }.freeze

  # Elah::SQL and Elah::Mongo took an endless time, and 10**19 seconds were a panic at the first call.
  def test_a_time_is_a_number_above_0_of_a_year_at_most
    CLIENTS.each do |client, (url, name)|
      [Float::INFINITY, Float::NAN, 1e19, -1, 0, "1", Complex(1, 1)].each do |value|
        error = assert_raises(Elah::OptionError, "#{client} #{value}") { client.new(url, name => value) }
        expected = "#{client}: #{name} must be a number of seconds above 0, up to 31536000, not #{value.inspect}."
        assert_equal expected, error.message
      end
      client.new(url, name => 2r).close
    end
  end

  def test_a_number_is_a_whole_one
    { Elah::SQL => :connections_max, Elah::Mongo => :connections_max,
      Elah::Redis => :in_flight_max }.each do |client, name|
      [0, -1, 1.5, 2**70, nil].each do |value|
        next if value.nil? && client == Elah::Mongo # which takes the URL's then

        error = assert_raises(Elah::OptionError,
                              "#{client} #{value}") { client.new(CLIENTS[client].first, name => value) }
        expected = "#{client}: #{name} must be a whole number above 0, up to #{(2**31) - 1}, not #{value.inspect}."
        assert_equal expected, error.message
      end
    end
  end

  def test_some_may_be_0
    Elah::SQL.new("postgres://me@127.0.0.1/x", waiters_max: 0, statements_max: 0).close
    Elah::Mongo.new("mongodb://127.0.0.1/x", pool_seconds: 0).close
    error = assert_raises(Elah::OptionError) { Elah::SQL.new("postgres://me@127.0.0.1/x", waiters_max: -1) }
    assert_includes error.message, "waiters_max must be a whole number from 0, up to 2147483647, not -1."
  end

  def test_a_build_without_clients_says_how_to_get_them
    %w[SQL Mongo Redis].each do |name|
      script = "require 'elah'; Elah::Clients.send(:remove_const, :#{name}); " \
               "begin; Elah::#{name}; rescue Elah::ClientMissing => e; puts e.message; end"
      out = IO.popen([RbConfig.ruby, "-I#{File.expand_path('../../lib', __dir__)}", "-e", script], &:read)
      assert_equal "Elah::#{name} is not part of this build of Elah: run `bin/setup --clients`, " \
                   "or install the gem with this client (docs/installing.md).\n", out
    end
  end
end

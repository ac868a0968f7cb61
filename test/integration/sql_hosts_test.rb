# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/patience"
require_relative "../support/servers"

# A URL of PostgreSQL with several hosts, which are tried in turn.
class SQLHostsTest < Minitest::Test
  include Patience

  NOBODY = "127.0.0.1:1"

  def server = Servers::PostgreSQL.shared

  def with_client(*addresses, parameters: "")
    sql = Elah::SQL.new(server.url.sub(server.address, addresses.join(",")) + parameters, connect_seconds: 3)
    yield sql
  ensure
    sql&.close
  end

  def test_the_first_host_that_replies_is_used
    TCPServer.open("127.0.0.1", 0) do |server_socket| # the kernel accepts, and nobody says anything
      silent = "127.0.0.1:#{server_socket.addr[1]}"
      with_client(NOBODY, silent, server.address) do |sql|
        assert_equal 1, sql.value("SELECT 1")
        assert_equal "#{NOBODY},#{silent},#{server.address}/test", sql.server
      end
      with_client(NOBODY, silent) do |sql|
        error = assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
        assert_match(/#{NOBODY}: .*refused.*; #{silent}: no reply within 1.5 s/, error.message)
      end
    end
  end

  # Each attempt to connect ended soon after its caller had gone, so that none came to the host after a silent one.
  def test_callers_with_little_time_get_past_a_silent_host
    TCPServer.open("127.0.0.1", 0) do |server_socket|
      with_client("127.0.0.1:#{server_socket.addr[1]}", server.address) do |sql|
        Elah.run do
          wait_until("a connection is there") do
            Elah.timeout(0.2) { sql.value("SELECT 1") } == 1
          rescue Elah::DeadlineExceeded
            false
          end
        end
      end
    end
  end

  def test_a_host_that_accepts_no_writes_is_passed_over_if_that_is_wanted
    Servers::PostgreSQL.start(settings: { "default_transaction_read_only" => "on" }) do |reader|
      addresses = [reader.address, server.address]
      with_client(*addresses) { |sql| assert_equal "on", sql.value("SHOW transaction_read_only") }
      with_client(*addresses, parameters: "?target_session_attrs=read-write") do |sql|
        assert_equal "off", sql.value("SHOW transaction_read_only")
      end
    end
  end

  # After a failover behind one name, sessions of a cluster stayed at the standby and read what was true before.
  def test_a_standby_is_passed_over_if_the_primary_is_wanted
    Servers::PostgreSQL.start(settings: { "default_transaction_read_only" => "on" }) do |primary|
      standby = Servers::Standby.start(primary, synchronous: false)
      where = "SELECT pg_is_in_recovery()"
      with_client(standby.address) { |sql| assert_equal true, sql.value(where) }
      with_client(standby.address, primary.address, parameters: "?target_session_attrs=primary") do |sql|
        assert_equal false, sql.value(where)
      end
      [Elah::Store::Cluster.primary(standby.url), "#{standby.url}?target_session_attrs=primary"].each do |url|
        sql = Elah::SQL.new(url)
        assert_match(/: the server is a standby/, assert_raises(Elah::Unavailable) { sql.value(where) }.message)
      ensure
        sql&.close
      end
    ensure
      standby&.remove
    end
  end

  def test_a_wrong_password_is_said_at_once
    url = server.url.sub("secret", "wrong").sub(server.address, "#{server.address},#{NOBODY}")
    sql = Elah::SQL.new(url)
    assert_raises(Elah::SQL::AuthenticationFailed) { sql.value("SELECT 1") }
  ensure
    sql&.close
  end
end

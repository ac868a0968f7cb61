# frozen_string_literal: true

# Ordinary drivers under `elah serve`, unchanged, against the real servers: fifty calls of 200 ms that wait together,
# and a neighbour who does not feel them.
require "test_helper"
require "support/gems"
return unless Gems.present?("mongo", "mysql2", "pg", "redis", "sqlite3")

require "mongo"
require "sqlite3"
require "support/elah_server"
require "support/request_burst"
require "support/servers"
require "support/slow_proxy"

class OrdinaryGemsTest < Minitest::Test
  Mongo::Logger.logger.level = Logger::FATAL

  APP = File.expand_path("../support/apps/gems.ru", __dir__)
  CALLS = 50
  CALL_SECONDS = 0.2
  # One after the other they take 10 s, and a neighbour waits for the first.
  MOST_SECONDS = 3
  HELLO_SECONDS = 1

  # A loaded machine may spoil some rounds.
  ROUNDS = 12

  def serve(**env)
    ElahServer.start(APP, env: env.to_h { |name, value| [name.to_s.upcase, value.to_s] }) { |server| yield server }
  end

  # The first round opens the connections.
  def assert_together(server, path, body)
    warm = RequestBurst.new(server, [path] * CALLS)
    assert_equal [body], warm.answers.map(&:body).uniq
    bursts = []
    until bursts.any? { |burst| burst.seconds < MOST_SECONDS && burst.hello_seconds < HELLO_SECONDS } ||
          bursts.size == ROUNDS
      bursts << RequestBurst.new(server, [path] * CALLS)
    end
    assert_operator bursts.map(&:seconds).min, :<, MOST_SECONDS
    assert_operator bursts.map(&:seconds).min, :>=, CALL_SECONDS
    assert_operator bursts.map(&:hello_seconds).min, :<, HELLO_SECONDS
  end

  def test_net_http
    Dir.mktmpdir do |folder|
      port_file = File.join(folder, "port")
      serve(http_port_file: port_file) do |server|
        SlowProxy.start(server.port, seconds: CALL_SECONDS) do |proxy|
          File.write(port_file, proxy.port)
          assert_together(server, "/http", "hello")
        end
      end
    end
  end

  def test_redis
    serve(redis_port: Servers::Redis.shared.port) { |server| assert_together(server, "/redis", "nil") }
  end

  def test_pg
    serve(pg_port: Servers::PostgreSQL.shared.port) { |server| assert_together(server, "/pg", "1") }
  end

  def test_mysql2
    serve(mysql_port: Servers::MariaDB.shared.port) { |server| assert_together(server, "/mysql2", "0") }
  end

  # It waits for the server's greeting in C.
  def test_mysql2_connects_off_the_loop
    SlowProxy.start(Servers::MariaDB.shared.port, seconds: CALL_SECONDS) do |proxy|
      serve(slow_mysql_port: proxy.port) do |server|
        bursts = Array.new(ROUNDS) { RequestBurst.new(server, ["/mysql2/connect"] * 10) }
        assert_equal({ 200 => 10 }, bursts.first.statuses)
        assert_operator bursts.map(&:hello_seconds).min, :<, HELLO_SECONDS
        assert_operator bursts.map(&:seconds).min, :<, 10 * CALL_SECONDS
      end
    end
  end

  def test_mongo
    database = Servers::MongoJavaServer.shared
    Mongo::Client.new([database.address], database: "test", connect: :direct)[:items].insert_one(_id: 1, value: "found")
    SlowProxy.start(database.port, seconds: CALL_SECONDS) do |proxy|
      serve(slow_mongo_port: proxy.port) { |server| assert_together(server, "/mongo", "found") }
    end
  end

  # SQLite has one writer at a time: the others wait for it, and nobody else does.
  def test_sqlite3_waits_for_a_lock_alone
    Dir.mktmpdir do |folder|
      file = File.join(folder, "database")
      SQLite3::Database.new(file).execute_batch("CREATE TABLE counters (value integer); " \
                                                "INSERT INTO counters VALUES (0)")
      serve(sqlite_file: file) do |server|
        bursts = []
        until bursts.any? { |burst| burst.hello_seconds < CALL_SECONDS } || bursts.size == ROUNDS
          bursts << RequestBurst.new(server, ["/sqlite3"] * 5)
          assert_equal({ 200 => 5 }, bursts.last.statuses)
          assert_operator bursts.last.seconds, :>=, 5 * CALL_SECONDS
        end
        assert_operator bursts.map(&:hello_seconds).min, :<, CALL_SECONDS
        assert_equal [[5 * bursts.size]], SQLite3::Database.new(file).execute("SELECT value FROM counters")
      end
    end
  end
end

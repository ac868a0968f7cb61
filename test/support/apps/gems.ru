# frozen_string_literal: true

# Ordinary drivers, used as anywhere: every path waits 200 ms for a server, whose address the environment gives.
require "mongo"
require "mysql2"
require "net/http"
require "pg"
require "redis"
require "sqlite3"

Mongo::Logger.logger.level = Logger::FATAL

# Connections that are open, and a way to open another.
class Connections
  def initialize(&open)
    @open = open
    @idle = []
  end

  def use
    connection = @idle.pop || @open.call
    result = yield connection
    @idle << connection
    result
  end
end

port = ->(name) { Integer(ENV.fetch(name)) }
redis = Connections.new { Redis.new(host: "127.0.0.1", port: port["REDIS_PORT"]) }
postgres = Connections.new do
  PG.connect(host: "127.0.0.1", port: port["PG_PORT"], user: "elah", password: "secret", dbname: "test")
end
maria = Connections.new do
  Mysql2::Client.new(host: "127.0.0.1", port: port["MYSQL_PORT"], username: "elah", password: "secret")
end
mongo = nil
sqlite = Connections.new do
  SQLite3::Database.new(ENV.fetch("SQLITE_FILE")).tap { |database| database.busy_timeout = 5000 }
end

paths = {
  "/hello" => -> { "hello" },
  "/http" => -> { Net::HTTP.get(URI("http://127.0.0.1:#{File.read(ENV.fetch('HTTP_PORT_FILE'))}/hello")) },
  "/redis" => -> { redis.use { |client| client.blpop("nothing", timeout: 0.2).inspect } },
  "/pg" => -> { postgres.use { |client| client.exec("SELECT 1 FROM pg_sleep(0.2)").getvalue(0, 0) } },
  "/mysql2" => -> { maria.use { |client| client.query("SELECT SLEEP(0.2) AS slept").first["slept"].to_s } },
  "/mysql2/connect" => lambda {
    Mysql2::Client.new(host: "127.0.0.1", port: port["SLOW_MYSQL_PORT"], username: "elah", password: "secret")
                  .close.inspect
  },
  "/mongo" => lambda {
    mongo ||= Mongo::Client.new(["127.0.0.1:#{port['SLOW_MONGO_PORT']}"],
                                database: "test", connect: :direct, max_pool_size: 50, wait_queue_timeout: 60)
    mongo[:items].find(_id: 1).first["value"]
  },
  "/sqlite3" => lambda {
    sqlite.use do |database|
      database.transaction(:immediate) do
        database.execute("UPDATE counters SET value = value + 1")
        sleep 0.2
      end
      "written"
    end
  }
}
run ->(env) { [200, { "content-type" => "text/plain" }, [paths.fetch(env["PATH_INFO"]).call]] }

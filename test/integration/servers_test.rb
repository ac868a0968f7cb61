# frozen_string_literal: true

# The servers that the other tests lean on: each serves, over TLS too, keeps its data over a stop and a kill when it
# shall, is silent while it is paused, and is gone at the end.
require "test_helper"
require "support/gems"
return unless Gems.present?("mongo", "mysql2", "pg", "redis")

require "mongo"
require "mysql2"
require "pg"
require "redis"
require "support/servers"

class ServersTest < Minitest::Test
  Mongo::Logger.logger.level = Logger::FATAL

  # How an ordinary driver connects, writes a value and reads it.
  Driver = Struct.new(:server_class, :connect, :write, :read, :silence)
  DRIVERS = [
    Driver.new(Servers::Redis,
               lambda { |server|
                 Redis.new(url: server.url, timeout: 2, reconnect_attempts: 0,
                           ssl_params: { ca_file: server.ca_file })
               },
               ->(client) { client.set("key", "value") }, ->(client) { client.get("key") }, Redis::TimeoutError),
    Driver.new(Servers::PostgreSQL,
               lambda { |server|
                 verified = "&sslmode=verify-full&sslrootcert=#{server.ca_file}" if server.tls?
                 PG.connect("#{server.url}?connect_timeout=5#{verified}")
               },
               ->(client) { client.exec("CREATE TABLE pairs (value text); INSERT INTO pairs VALUES ('value')") },
               ->(client) { client.exec("SELECT value FROM pairs").getvalue(0, 0) }, PG::ConnectionBad),
    Driver.new(Servers::MariaDB,
               lambda { |server|
                 Mysql2::Client.new(host: "127.0.0.1", port: server.port, username: "elah", password: "secret",
                                    database: "test", read_timeout: 4, connect_timeout: 4,
                                    sslca: server.ca_file, sslverify: server.tls?)
               },
               lambda { |client|
                 client.query("CREATE TABLE pairs (value text)")
                 client.query("INSERT INTO pairs VALUES ('value')")
               },
               ->(client) { client.query("SELECT value FROM pairs").first["value"] }, Mysql2::Error),
    Driver.new(Servers::MongoJavaServer,
               lambda { |server|
                 Mongo::Client.new([server.address],
                                   database: "test", connect: :direct, server_selection_timeout: 5,
                                   connect_timeout: 3, socket_timeout: 3,
                                   ssl: server.tls?, ssl_ca_cert: server.ca_file)
               },
               ->(client) { client[:pairs].insert_one(_id: 1, value: "value") },
               ->(client) { client[:pairs].find.first["value"] }, Mongo::Error)
  ].freeze

  DRIVERS.each do |driver|
    name = driver.server_class.name.split("::").last.downcase

    define_method(:"test_#{name}_keeps_what_it_acknowledged") do
      driver.server_class.start(durable: true) do |server|
        driver.write.call(driver.connect.call(server))
        port = server.port
        server.restart
        assert_equal "value", driver.read.call(driver.connect.call(server))
        server.kill
        refute_predicate server, :running?
        server.start
        assert_equal "value", driver.read.call(driver.connect.call(server))
        assert_equal port, server.port
      end
    end

    define_method(:"test_#{name}_is_silent_while_it_is_paused") do
      server = driver.server_class.shared
      client = driver.connect.call(server)
      driver.write.call(client)
      server.pause
      assert_raises(driver.silence) { driver.read.call(driver.connect.call(server)) }
    ensure
      server.resume
      assert_equal "value", driver.read.call(driver.connect.call(server))
    end

    define_method(:"test_#{name}_speaks_tls_with_a_certificate_that_can_be_checked") do
      driver.server_class.start(tls: true) do |server|
        client = driver.connect.call(server)
        driver.write.call(client)
        assert_equal "value", driver.read.call(client)
      end
    end

    define_method(:"test_#{name}_leaves_nothing_behind") do
      pid, folder = driver.server_class.start { |server| [server.pid, server.folder] }
      refute Dir.exist?("/proc/#{pid}")
      refute Dir.exist?(folder)
    end
  end

  def test_a_taken_port_is_passed_over
    taken = TCPServer.new("127.0.0.1", 0)
    ports = [taken.local_address.ip_port]
    server = Class.new(Servers::Redis) { define_method(:free_port) { ports.shift || super() } }
    server.define_singleton_method(:name) { "Servers::Redis" }
    server.start { |redis| assert_equal "PONG", Redis.new(url: redis.url).ping }
    assert_empty ports
  ensure
    taken.close
  end

  def test_a_cluster_answers_for_every_key
    skip "The gem redis has its client for clusters in another gem since version 5." if Redis::VERSION >= "5"

    Servers::RedisCluster.start(masters: 3) do |cluster|
      client = Redis.new(cluster: cluster.urls)
      20.times { |index| client.set("key#{index}", index) }
      assert_equal "7", client.get("key7")
      assert_operator(cluster.nodes.count { |node| Redis.new(url: node.url).dbsize.positive? }, :>, 1)
    end
  end

  def test_what_a_failing_process_started_is_ended
    script = 'require "support/servers"; server = Servers::Redis.start; puts server.pid, server.folder; ' \
             '$stdout.flush; Process.wait(fork { exit }); raise "failed"'
    output, input = IO.pipe
    Process.wait(Process.spawn(RbConfig.ruby, "-Itest", "-e", script, out: input, err: File::NULL))
    input.close
    pid, folder = output.read.split
    refute Dir.exist?("/proc/#{pid}")
    refute Dir.exist?(folder)
  end
end

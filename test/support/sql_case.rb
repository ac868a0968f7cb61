# frozen_string_literal: true

require_relative "../test_helper"
require_relative "patience"
require_relative "servers"

# Owns what tests of Elah::SQL need to know of each server, so that every case runs on both. A file of cases is a
# module; `on_each_server` makes a test class of it for each.
module SQLCase
  include Patience

  # PostgreSQL in its own words.
  module OnPostgreSQL
    def self.server_class = Servers::PostgreSQL

    def sleep_sql(seconds) = "SELECT pg_sleep(#{seconds})"
    def series_sql(count) = "SELECT n FROM generate_series(1, #{count}) AS n ORDER BY n"
    def endless_sql = "SELECT generate_series(1, 1000000000) AS n"
    def identity = "bigserial PRIMARY KEY"
    def connection_id_sql = "SELECT pg_backend_pid()"
    def kill_sql(id) = "SELECT pg_terminate_backend(#{id})"
    def others_sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'elah' AND pid <> pg_backend_pid()"
    def updates_sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UPDATE%' AND state = 'active'"
    def sleepers_sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
  end

  # MariaDB in its own words.
  module OnMariaDB
    def self.server_class = Servers::MariaDB

    def sleep_sql(seconds) = "SELECT SLEEP(#{seconds})"
    def series_sql(count) = "SELECT seq AS n FROM seq_1_to_#{count}"
    def endless_sql = "SELECT seq AS n FROM seq_1_to_1000000000"
    def identity = "bigint AUTO_INCREMENT PRIMARY KEY"
    def connection_id_sql = "SELECT CONNECTION_ID()"
    def kill_sql(id) = "KILL #{id}"
    def others_sql = "SELECT count(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'elah'"
    def updates_sql = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE%'"
    def sleepers_sql = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'"
  end

  # @param cases [Module]
  def self.on_each_server(cases)
    [OnPostgreSQL, OnMariaDB].each do |words|
      test_class = Class.new(Minitest::Test) do
        include SQLCase
        include words
        include cases
        define_method(:server) { words.server_class.shared }
      end
      cases.const_set("#{words.name[/On(\w+)/, 1]}Test", test_class)
    end
  end

  def setup
    @clients = []
    @admin = Elah::SQL.new(server.url, connections_max: 1, pool_seconds: patience_seconds)
    @admin.execute("DROP TABLE IF EXISTS things")
    @admin.execute("CREATE TABLE things (id #{identity}, name varchar(100) UNIQUE)")
  end

  def teardown
    @clients.each(&:close)
    @admin.close
  end

  # @return [Elah::SQL] closed at the end of the test
  def client(url = server.url, **options) = Elah::SQL.new(url, **options).tap { |sql| @clients << sql }

  # Connections of other clients than the one that counts.
  def connections = @admin.value(others_sql)

  # Runs the block in so many fibers of one loop.
  #
  # @return [Array] what the blocks gave, in the order in which they ended
  def in_fibers(count)
    results = []
    Elah.run { count.times { |number| Fiber.schedule { results << yield(number) } } }
    results
  end

  # @return [:done, Elah::Error]
  def outcome
    yield
    :done
  rescue Elah::Error => e
    e
  end
end

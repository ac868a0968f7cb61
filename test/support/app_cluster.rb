# frozen_string_literal: true

require_relative "elah_server"
require_relative "patience"
require_relative "servers"

# A cluster of real servers that run one app on one PostgreSQL.
class AppCluster
  include Patience

  # Options of every server: a short lease, and time enough for its end.
  OPTIONS = { lease_seconds: 2.5, entity_moving_seconds: 30, request_seconds: 60, shards: 32 }.freeze

  MEMBERS = <<~SQL
    SELECT w.writer::text, w.node, count(s.shard) AS shards FROM elah_writers w LEFT JOIN elah_shards s USING (writer)
    WHERE NOT w.fenced GROUP BY w.writer ORDER BY w.writer
  SQL

  # @return [Servers::PostgreSQL]
  attr_reader :database

  # @return [Servers::Standby, nil]
  attr_reader :standby

  # @return [Array<ElahServer>]
  attr_reader :servers

  # Starts a database and so many servers; ends them after the block.
  #
  # @param app [String] the path of an app file, or the source of one
  # @param settings [Hash] of the app, by name
  # @param host [String] where the servers reach the database
  # @param database [Hash, #url] options of the database, or one that runs
  # @param standby [Symbol, nil] `:synchronous` or `:asynchronous`
  # @param options [Hash{Symbol=>Object}] of Elah, for each server
  def self.start(app:, settings: {}, servers: 2, database: {}, host: "127.0.0.1", standby: nil, **options)
    cluster = new(app, settings, database, host, standby, options)
    servers.times { cluster.add }
    yield cluster
  ensure
    cluster&.remove
  end

  def initialize(app, settings, database, host, standby, options)
    @app = app
    @arguments = settings.flat_map { |name, value| ["--set", "#{name}=#{value}"] }
    @host = host
    @options = options
    @servers = []
    @database = database.is_a?(Hash) ? Servers::PostgreSQL.start(**database) : database
    @standby = Servers::Standby.start(@database, synchronous: standby == :synchronous, **database) if standby
  end

  # Lets machines of a network reach the database.
  #
  # @param network [String] such as 10.0.0.0/24
  def admit(network)
    file = Dir[File.join(@database.folder, "**", "pg_hba.conf")].fetch(0)
    File.write(file, "host all all #{network} scram-sha-256\n", mode: "a")
    Process.kill(:HUP, @database.pid)
  end

  # @return [String] of the database, with its standby
  def url
    return @database.url unless @database.is_a?(Servers::PostgreSQL)

    hosts = [@database, @standby].compact.map { |server| "#{@host}:#{server.port}" }
    @database.url.sub(@database.address, hosts.join(","))
  end

  # @param options [Hash{Symbol=>Object}] of Elah
  # @return [ElahServer] another server
  def add(**options)
    server = ElahServer.start(@app, arguments: @arguments, cluster: url, **OPTIONS, **@options, **options)
    @servers << server
    server
  end

  # @return [Elah::SQL] the database
  def sql = @sql ||= Elah::SQL.new(@database.url, connections_max: 1, pool_seconds: patience_seconds)

  # @return [Hash{String=>Hash}] the writers of the cluster that are not fenced, as the database has them
  def members = once_available { sql.query(MEMBERS) }.to_h { |row| [row["writer"], row.to_h] }

  # @return [Array<Integer>] number of shards of each living process
  def shards = members.values.map { |member| member["shards"] }

  # Shards move only when the processes have been the same for a while, which they are not on a machine that is loaded.
  def patience_seconds = 180

  # Waits until each of so many processes owns its part.
  def wait_until_spread(count)
    wait_until("#{count} processes own shards") { spread?(shards, count) }
  end

  def remove
    @sql&.close
    @servers.each(&:kill)
    [@standby, @database].each { |server| server&.remove }
  end

  private

  def spread?(found, count) = found.size == count && found.sum == OPTIONS[:shards] && found.max - found.min <= 1
end

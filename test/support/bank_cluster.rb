# frozen_string_literal: true

require_relative "elah_server"
require_relative "patience"
require_relative "servers"

# A cluster of real servers with accounts on one PostgreSQL, and what a test does to it: it notes what was confirmed and
# compares.
class BankCluster
  include Patience

  APP = <<~RUBY
    if (version = ENV["PLANTED_VERSION"]) # a process of another version of Elah
      Elah::Store::Cluster::Membership.send(:remove_const, :VERSION)
      Elah::Store::Cluster::Membership.const_set(:VERSION, Integer(version))
    end
    class Account < Elah::Entity
      index :history
      index :notes # nobody uses it before a test does
      def restore = @balance = state.get("balance").to_i
      attr_reader :balance

      def deposit(amount)
        @balance += amount
        state.put("balance", @balance.to_s)
        index(:history).put("\#{key} \#{@balance}", amount.to_s)
        { balance: @balance, writer: STORE.membership.native.writer }
      end

      def note(text) = index(:notes).put(key, text)
    end
    STORE = Elah::Store.open(Elah.config.state)
    ACCOUNTS = Account.in(STORE)
    class Bank < Elah::API
      format :json
      helpers do
        def amounts(key)
          ACCOUNTS.index(:history).range(prefix: "\#{key} ", limit: 10_000).map { |_, amount| amount.to_i }
        end
      end
      get("/ready") { Elah::Store.check_ready }
      get("/spoken") { { version: STORE.membership.native.spoken } }
      get("/members") { STORE.membership.native.members.transform_keys(&:to_s) }
      get("/hang") { nil until File.exist?(File.join(Elah.config.data, "go on")) }
      get("/history/:key") { { amounts: amounts(params[:key]) } }
      get("/:key") { { balance: ACCOUNTS[params[:key]].balance, pid: Process.pid } }
      post("/notes/:key/:text") { ACCOUNTS[params[:key]].note(params[:text]) }
      post("/:key/:amount") { ACCOUNTS[params[:key]].deposit(params[:amount].to_i) }
    end
    run Bank
  RUBY

  # Options of every server: a short lease, and time enough for its end.
  OPTIONS = { lease_seconds: 2.5, entity_moving_seconds: 30, request_seconds: 60, shards: 32 }.freeze

  # @return [Servers::PostgreSQL]
  attr_reader :database

  # @return [Servers::Standby, nil]
  attr_reader :standby

  # @return [Array<ElahServer>]
  attr_reader :servers

  # Starts a database and so many servers; ends them after the block.
  #
  # @param host [String] where the servers reach the database
  # @param standby [Symbol, nil] `:synchronous` or `:asynchronous`
  def self.start(servers: 2, database: {}, host: "127.0.0.1", standby: nil, **options)
    cluster = new(servers, database, host, standby, options)
    yield cluster
  ensure
    cluster&.remove
  end

  def initialize(count, database, host, standby, options)
    @host = host
    @options = options
    @servers = []
    @confirmed = Hash.new(0)
    @unsure = Hash.new(0)
    @database = Servers::PostgreSQL.start(**database)
    @standby = Servers::Standby.start(@database, synchronous: standby == :synchronous, **database) if standby
    count.times { add }
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
    hosts = [@database, @standby].compact.map { |server| "#{@host}:#{server.port}" }
    @database.url.sub(@database.address, hosts.join(","))
  end

  # @param options [Hash{Symbol=>Object}] of Elah
  # @return [ElahServer] another server
  def add(**options)
    server = ElahServer.start(APP, cluster: url, **OPTIONS, **@options, **options)
    @servers << server
    server
  end

  # @param version [Integer] of the protocol
  # @return [ElahServer] another server, as of another version of Elah
  def add_version(version) = add(env: { "PLANTED_VERSION" => version.to_s })

  # @return [Integer] the version by which all work, as a server knows it
  def spoken(server) = server.get("/spoken").json["version"]

  # A deposit through a server. What it confirms is noted, and what it does not.
  #
  # @return [Integer] the status
  def deposit(server, key, amount)
    response = server.request("POST", "/#{key}/#{amount}")
    (response.status == 201 ? @confirmed : @unsure)[key] += amount
    response.status
  end

  # @return [Hash{String=>Integer}] of each key what was confirmed
  def confirmed = @confirmed.dup

  # @return [Hash{String=>Integer}] balances as a server reads them
  def balances(server) = @confirmed.to_h { |key, _| [key, server.get("/#{key}").json["balance"]] }

  # @return [Hash{String=>Array}] balances as a server reads them that lack a confirmed deposit, or have one that nobody made
  def wrong(server)
    balances(server).reject { |key, balance| balance&.between?(@confirmed[key], @confirmed[key] + @unsure[key]) }
  end

  # @return [Hash{String=>Hash}] the writers of the cluster that are not fenced
  def members(server) = server.get("/members").json.reject { |_, member| member["fenced"] }

  # @return [Array<Integer>] number of shards of each living process
  def shards(server) = members(server).values.map { |member| member["shards"] }

  # Waits until each of so many processes owns its part.
  def wait_until_spread(server, count)
    wait_until("#{count} processes own shards") do
      found = shards(server)
      found.size == count && found.sum == OPTIONS[:shards] && found.max - found.min <= 1
    end
  end

  # Shards move only when the processes have been the same for a while, which they are not on a machine that is loaded.
  def patience_seconds = 180

  def remove
    @servers.each(&:kill)
    [@standby, @database].each { |server| server&.remove }
  end
end

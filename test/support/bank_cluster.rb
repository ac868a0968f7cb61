# frozen_string_literal: true

require_relative "app_cluster"

# A cluster of servers with accounts, and what a test does to them: it notes what was confirmed and compares.
class BankCluster < AppCluster
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

      # Rows that accounts of several owners write.
      def exchange(added, removed)
        [added, "shared"].each { |row| index(:notes).put(row, key) }
        index(:notes).delete(removed)
      end
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
      post("/exchange/:key/:added/:removed") { ACCOUNTS[params[:key]].exchange(params[:added], params[:removed]) }
      post("/:key/:amount") { ACCOUNTS[params[:key]].deposit(params[:amount].to_i) }
    end
    run Bank
  RUBY

  # @param options [Hash] see {AppCluster.start}
  def self.start(**options, &block) = super(app: APP, **options, &block)

  def initialize(...)
    @confirmed = Hash.new(0)
    @unsure = Hash.new(0)
    super
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

  # @return [Hash{String=>Array}] balances as a server reads them that lack a confirmed deposit, or have one that nobody
  # made
  def wrong(server)
    balances(server).reject { |key, balance| balance&.between?(@confirmed[key], @confirmed[key] + @unsure[key]) }
  end

  # @return [Hash{String=>Hash}] the writers of the cluster that are not fenced, as a server knows them
  def members(server) = server.get("/members").json.reject { |_, member| member["fenced"] }

  # @return [Array<Integer>] number of shards of each living process, as a server knows them
  def shards(server) = members(server).values.map { |member| member["shards"] }

  # Waits until a server knows that each of so many processes owns its part.
  def wait_until_spread(server, count)
    wait_until("#{count} processes own shards") { spread?(shards(server), count) }
  end
end

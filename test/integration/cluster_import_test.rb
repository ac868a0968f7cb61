# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"
require "support/ring_pools_server"
require "support/servers"
require "elah/cli"
require "elah/entity"

# `elah cluster import`: an app that was on one machine goes on on a cluster, with the same responses.
class ClusterImportTest < Minitest::Test
  include Patience

  APP = <<~RUBY
    class Account < Elah::Entity
      index :history
      def restore
        @balance = state.get("balance").to_i
        @wakes = state.get("wakes").to_i
      end
      attr_reader :balance, :wakes

      def deposit(amount)
        state.put("balance", (@balance += amount).to_s)
        index(:history).put("\#{key} \#{@balance}", amount.to_s)
        @balance
      end

      def friend(key) = ACCOUNTS[key]
      def remind(seconds) = wake_at(STORE.now + seconds)
      def woken = state.put("wakes", (@wakes += 1).to_s)
    end
    STORE = Elah::Store.open(Elah.config.state("bank"))
    ACCOUNTS = Account.in(STORE)
    LINKS = STORE.table("links")
    VISITS = STORE.counter("visits", durability: :memory)
    class Bank < Elah::API
      format :json
      get("/links/:key") { { value: LINKS.get(params[:key]), visits: VISITS.get(params[:key]) } }
      post("/links/:key") do
        { new: LINKS.put_new(params[:key], "x" * 2000, ttl: 3600), visits: VISITS.increment(params[:key]) }
      end
      get("/:key/friend") { { key: ACCOUNTS[params[:key]].once("friend").friend("other").key } }
      get("/:key/wakes") { { wakes: ACCOUNTS[params[:key]].wakes } }
      post("/:key/remind") { { set: ACCOUNTS[params[:key]].remind(1).nil? } }
      get("/:key") do
        history = ACCOUNTS.index(:history).range(prefix: params[:key] + " ")
        { balance: ACCOUNTS[params[:key]].balance, history: history }
      end
      post("/:key/once/:amount") { { balance: ACCOUNTS[params[:key]].once("deposit").deposit(params[:amount].to_i) } }
      post("/:key/:amount") { { balance: ACCOUNTS[params[:key]].deposit(params[:amount].to_i) } }
    end
    run Bank
  RUBY
  EXPIRIES = "SELECT min(expires_at), max(expires_at) FROM elah_rows JOIN elah_tables USING (tbl) WHERE name = 'links'"
  END_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " \
               "WHERE pid <> pg_backend_pid() AND datname = current_database()"
  KEYS = Array.new(20) { |number| "account#{number}" }.freeze
  OPTIONS = { shards: 32, entity_moving_seconds: 30, request_seconds: 60 }.freeze

  def setup
    @data = Dir.mktmpdir("elah-import")
    @url = Servers::PostgreSQL.shared.url.sub(/\w+\z/, "import_#{object_id}")
    admin = Elah::SQL.new(Servers::PostgreSQL.shared.url, connections_max: 1)
    admin.execute("CREATE DATABASE import_#{object_id}")
    admin.close
  end

  def teardown
    FileUtils.rm_rf(@data)
  end

  # The server is killed, so that counts in memory are only in its journal, and a timer is due that nobody has fired.
  def test_an_app_goes_on_on_the_cluster_where_it_was
    before = nil
    began = Time.now
    ElahServer.start(APP, data: @data, **OPTIONS).then do |server|
      fill(server)
      before = responses(server)
      server.request("POST", "/account3/remind")
    ensure
      server.kill
    end
    out = import(@data)
    assert_match(/^links: 5 of 5 entries$/, out)
    assert_match(/^Imported 5 tables with \d+ entries \(\d+ bytes\), and 1 counters with 5 counts\. The database/, out)
    assert_expiry_between(began + 3600, Time.now + 3600)
    ElahServer.start(APP, cluster: @url, **OPTIONS) do |server|
      assert_equal before, responses(server)
      assert_equal({ "balance" => 8 }, server.request("POST", "/account3/once/5").json)
      wait_until("the timer has fired") { server.get("/account3/wakes").json["wakes"] == 1 }
      assert_equal({ "new" => false, "visits" => 3 }, server.request("POST", "/links/1").json)
    end
    assert_match(/has data already/, refused(@data))
  end

  # No number that was lent in the folder is lent again on the cluster.
  def test_ring_pools_go_on_on_the_cluster_with_their_leases
    numbers = Array.new(40) { |number| format("+1888666%04d", number) }
    one = RingPoolsServer.new({}, OPTIONS)
    pools = [numbers[0, 20], numbers[20, 20]].map { |of_pool| one.create(of_pool) }
    lent = Array.new(8) { one.bulk(pools) }
    pool = stored(one, pools[0])
    one.kill
    assert_match(/^Imported \d+ tables/, import(one.data))
    two = RingPoolsServer.new({ ring_pools_deadline_ms: 20_000 }, { cluster: @url, **OPTIONS })
    assert_equal pool, stored(two, pools[0])
    lent = (lent + Array.new(8) { two.bulk(pools) }).flatten(1).map { |row| row.fetch("promo_number") }
    assert_equal 32, lent.uniq.size, lent.inspect
  ensure
    [one, two].each { |server| server&.remove }
  end

  def test_a_folder_in_use_and_a_cluster_in_use_are_refused
    ElahServer.start(APP, data: @data, **OPTIONS) do |server|
      fill(server)
      users = /open: stop every process that uses it to import it\. It is in use by process #{server.pid} /
      assert_match(users, refused(@data))
    end
    ElahServer.start(APP, cluster: @url, **OPTIONS) do |server|
      assert_equal({ "balance" => 0, "history" => [] }, server.get("/account1").json)
      assert_match(/1 processes take part in the cluster: stop every server/, refused(@data))
    end
    import(@data)
  end

  def test_what_does_not_fit_is_refused
    assert_match(/has no store/, refused(@data))
    open_store { |store| store.table("links").put("1", "2") }
    assert_match(/No such file/, refused(File.join(@data, "missing")))
    open_store("other") { |store| store.table("links").put("1", "2") }
    assert_match(/has several stores \(bank, other\): name the folder of one/, refused(@data))
    Elah::Store.open(@data).close # as jobs do; it alone was imported
    assert_match(/has several stores \(\., bank, other\): name the folder of one/, refused(@data))
    assert_match(/1 of 1/, import(File.join(@data, "bank")))
    ElahServer.start(APP.sub('state("bank")', 'state("third")'), data: @data, **OPTIONS) { |server| fill(server) }
    error = refused(File.join(@data, "third"), shards: 64)
    assert_match(/divided into 32 shards for good, and the option shards is 64/, error)
  end

  # Whatever ends it, nothing of it is there, and it can be repeated.
  def test_an_import_that_is_cut_off_has_imported_nothing
    open_store do |store|
      store.transaction { |tx| 2000.times { |key| tx.put(store.table("a"), key.to_s, "x" * 2000) } }
      store.table("b").put("1", "")
    end
    sql = Elah::SQL.new(@url, connections_max: 1)
    importer = Elah::Store::Cluster::Import.new(File.join(@data, "bank"), "bank", @url, 32)
    assert_raises(Elah::Store::Unavailable) { importer.run { sql.rows(END_OTHERS) } }
    assert_nil sql.value("SELECT to_regclass('elah_cluster')::text")
    assert_match(/^a: 2000 of 2000 entries\nb: 1 of 1 entries$/, import(@data))
    assert_equal [2001, "bank"], sql.rows("SELECT (SELECT count(*) FROM elah_rows), identity FROM elah_cluster").first
  ensure
    sql&.close
  end

  private

  # What a pool is without the figures of its process.
  def stored(server, pool) = server.get("/pools/#{pool['id']}").json.except("next_free_at", "last_hour", "forecast")

  def fill(server)
    KEYS.each_with_index { |key, index| assert_equal 201, server.request("POST", "/#{key}/#{index}").status }
    2.times { assert_equal({ "balance" => 8 }, server.request("POST", "/account3/once/5").json) }
    5.times { |key| 2.times { server.request("POST", "/links/#{key}") } }
  end

  def responses(server)
    paths = KEYS.map { |key| "/#{key}" } + Array.new(6) { |key| "/links/#{key}" } + ["/account1/friend"]
    paths.to_h { |path| [path, server.get(path).json] }
  end

  def assert_expiry_between(from, til)
    sql = Elah::SQL.new(@url, connections_max: 1)
    lowest, highest = sql.rows(EXPIRIES).first
    assert_operator (from.to_r * 1000).floor, :<=, lowest
    assert_operator highest, :<=, (til.to_r * 1000).ceil
  ensure
    sql&.close
  end

  def open_store(name = "bank")
    store = Elah::Store.open(File.join(@data, name))
    yield store
  ensure
    store&.close
  end

  def refused(path, **options)
    status, out, err = elah(path, **options)
    assert_equal [1, ""], [status, out]
    err
  end

  def import(path)
    status, out, err = elah(path)
    assert_equal [0, ""], [status, err]
    out
  end

  def elah(path, shards: 32)
    config = Elah.config
    out, err = StringIO.new, StringIO.new
    flags = ["--cluster", @url, "--data", @data, "--shards", shards.to_s]
    status = Elah::CLI.start(["cluster", "import", path, *flags], out: out, err: err)
    [status, out.string, err.string]
  ensure
    Elah.config = config
  end
end

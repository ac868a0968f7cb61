# frozen_string_literal: true

# Measures calls of entities on a cluster's PostgreSQL beside the best that the same database does without Elah's entities, in turns:
# `ruby -Ilib -Itest bench/cluster.rb [--record]`. The database is one of the tests', with fsync.
require "minitest"
require "support/servers"
require "elah"
require "tmpdir"

ROUNDS = 5
CALLS = 300
FIBERS = 64

# One row of state, as large as a row of the yardstick.
class Account < Elah::Entity
  attr_reader :balance

  def restore = @balance = state.get("balance").to_i

  def deposit(amount)
    @balance += amount
    state.put("balance", @balance.to_s)
    @balance
  end
end

UPSERT = "INSERT INTO plain (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value"
UPSERTS = "INSERT INTO plain (key, value) SELECT * FROM unnest(?::bytea[], ?::bytea[]) " \
          "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value"
ADD = "UPDATE hot SET balance = ? WHERE key = 1"

def in_fibers(count, &block) = Array.new(FIBERS) { |fiber| Elah.async { (count / FIBERS).times { block.call(fiber) } } }.each(&:value)

def hot_row(sql)
  sql.transaction do |tx|
    balance = tx.value("SELECT balance FROM hot WHERE key = 1 FOR UPDATE")
    tx.execute(ADD, balance + 1)
  end
end

# Pairs of works, each with the number of calls and the yardstick.
def pairs(store, folder, sql)
  sql.execute("CREATE TABLE plain (key bytea PRIMARY KEY, value bytea)")
  sql.execute("CREATE TABLE hot (key int PRIMARY KEY, balance bigint)")
  sql.execute("INSERT INTO hot VALUES (1, 0)")
  accounts = Account.in(store)
  embedded = Account.in(folder)
  many = Array.new(FIBERS) { |number| ["account#{number}", :deposit, 1] }
  keys = many.map(&:first)
  {
    "one writing call / upsert of a row" =>
      [CALLS, -> { CALLS.times { accounts["one"].deposit(1) } }, -> { CALLS.times { sql.execute(UPSERT, "one", "1") } }],
    "64 writing calls together / upsert of 64 rows" =>
      [CALLS, -> { CALLS.times { accounts.call_many(many) } }, -> { CALLS.times { sql.execute(UPSERTS, keys, keys) } }],
    "one key by 64 fibers / SELECT FOR UPDATE, UPDATE, COMMIT" =>
      [10 * FIBERS, -> { in_fibers(10 * FIBERS) { accounts["hot"].deposit(1) } }, -> { in_fibers(10 * FIBERS) { hot_row(sql) } }],
    "read at its owner / the same in a folder" =>
      [50_000, -> { 50_000.times { accounts["one"].balance } }, -> { 50_000.times { embedded["one"].balance } }]
  }
end

def seconds
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
end

def compare(calls, work, yardstick)
  rounds = Array.new(ROUNDS) { [seconds(&work), seconds(&yardstick)] }
  work_us, yardstick_us = rounds.transpose.map { |times| times.sort[ROUNDS / 2] / calls * 1e6 }
  { us: work_us, yardstick_us: yardstick_us, ratio: rounds.map { |mine, other| mine / other }.sort[ROUNDS / 2] }
end

def show(result) = puts(format("%-58<what>s %9.1<us>f us  %9.1<yardstick_us>f us  %5.2<ratio>f", **result))

def run(url)
  Dir.mktmpdir do |dir|
    store = Elah::Store.open(url)
    folder = Elah::Store.open(dir)
    sql = Elah::SQL.new(url)
    Elah.run do
      pairs(store, folder, sql).map do |name, (calls, work, yardstick)|
        [work, yardstick].each(&:call)
        { what: name, **compare(calls, work, yardstick) }.tap { |result| show(result) }
      end
    end
  ensure
    [store, folder, sql].compact.each(&:close)
  end
end

is_recorded = ARGV.delete("--record")
results = Servers::PostgreSQL.start(durable: true) { |database| run(database.url) }
if is_recorded
  require_relative "lib/bench"
  Bench::Record.new.write("cluster", { results: results, command: "ruby -Ilib -Itest bench/cluster.rb" })
end

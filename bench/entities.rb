# frozen_string_literal: true

# Measures what a call of an entity costs in Ruby, beside the same change as a plain transaction of the store, in turns:
# `ruby -Ilib bench/entities.rb [--record] [DIR]`. DIR should be on the disk that matters.
require "elah"
require "tmpdir"

ROUNDS = 3
FIBERS = 64
BATCHES = 20
BATCH = 40

# One row of state and one of an index, as an allocation writes them.
class Account < Elah::Entity
  index :history

  attr_reader :balance

  def restore = @balance = state.get("balance").to_i

  def deposit(amount)
    @balance += amount
    state.put("balance", @balance.to_s)
    index(:history).put("#{key} #{@balance}", "x")
    @balance
  end
end

# Answers at once.
class AccountInMemory < Account
  durability :memory
end

# Returns values of several kinds from memory, with what their copies cost.
class Values < Elah::Entity
  ROW = { id: 1, name: "a name", balance: 100, currency: "EUR", open: true }.freeze

  attr_reader :integer, :text, :row, :rows, :shareable

  def restore
    @integer = 1
    @text = +"some text of thirty characters"
    @row = ROW.dup
    @rows = Array.new(100) { |n| { **ROW, name: +"name #{n}" } }
    @shareable = Ractor.make_shareable(Marshal.load(Marshal.dump(@rows)))
  end
end

# Tells when its timer has fired.
class Alarm < Elah::Entity
  FIRED = Queue.new

  def set = wake_at(Time.at(0))
  def woken = FIRED << key
end

TIMERS = Array.new(2000) { |n| [n.to_s, :set] }
CALLS = Array.new(BATCH) { |n| ["account#{n}", :deposit, 1] }

def in_fibers(&block) = Array.new(FIBERS) { Elah.async { BATCHES.times(&block) } }.each(&:value)

def plain_transactions(store)
  rows = store.table("rows")
  history = store.table("history")
  Array.new(FIBERS) do |fiber| # each has keys of its own, so that none has to run again
    Elah.async { (BATCHES / 4).times { |n| store.transaction { |tx| plain_batch(tx, rows, history, fiber, n) } } }
  end.each(&:value)
end

def plain_batch(transaction, rows, history, fiber, batch)
  CALLS.each do |key, _, amount|
    balance = transaction.get(rows, "#{key} #{fiber}").to_i + amount
    transaction.put(rows, "#{key} #{fiber}", balance.to_s)
    transaction.put(history, "#{key} #{fiber} #{batch} #{balance}", "x")
  end
end

def workloads(store)
  accounts = Account.in(store)
  in_memory = AccountInMemory.in(store)
  many = FIBERS * BATCHES * BATCH
  alarms = Alarm.in(store)
  value = Values.in(store)["1"]
  key = 0
  {
    "result: Integer" => [100_000, -> { 100_000.times { value.integer } }],
    "result: String" => [100_000, -> { 100_000.times { value.text } }],
    "result: Hash of 5" => [50_000, -> { 50_000.times { value.row } }],
    "result: Array of 100 such Hashes" => [2000, -> { 2000.times { value.rows } }],
    "the same Array, made shareable" => [100_000, -> { 100_000.times { value.shareable } }],
    "deposit :memory, once" => [5000, -> { 5000.times { in_memory["once#{(key += 1) % 100}"].once("key #{key}").deposit(1) } && in_memory.flush }],
    "the same call again" => [5000, -> { 5000.times { in_memory["once0"].once("key 100").deposit(1) } }],
    "timer set and fired, 2000 at once" => [2000, -> { alarms.call_many(TIMERS) && 2000.times { Alarm::FIRED.pop } }],
    "read, one call" => [100_000, -> { 100_000.times { accounts["account0"].balance } }],
    "deposit :memory, one call" => [50_000, -> { 50_000.times { in_memory["account0"].deposit(1) } && in_memory.flush }],
    "deposit :memory, 40 of 64 fibers" => [many, -> { in_fibers { in_memory.call_many(CALLS) } && in_memory.flush }],
    "deposit :disk, 40 of 64 fibers" => [many, -> { in_fibers { accounts.call_many(CALLS) } }],
    "plain transaction of 40, 64 fibers" => [many / 4, -> { plain_transactions(store) }]
  }
end

def measure(calls, work)
  clocks = [Process::CLOCK_PROCESS_CPUTIME_ID, Process::CLOCK_MONOTONIC]
  before = clocks.map { |clock| Process.clock_gettime(clock) }
  work.call
  clocks.zip(before).map { |clock, start| (Process.clock_gettime(clock) - start) / calls * 1e6 }
end

def run(dir)
  store = Elah::Store.open(dir)
  Elah.run do
    work = workloads(store)
    results = Hash.new { |hash, name| hash[name] = [] }
    ROUNDS.times { work.each { |name, (calls, block)| results[name] << measure(calls, block) } }
    results.map { |name, rounds| { what: name }.merge(median(rounds)).tap { |result| show(result) } }
  end
ensure
  store&.close
end

def median(rounds) = %i[cpu_us wall_us].zip(rounds.transpose.map { |values| values.sort[ROUNDS / 2] }).to_h

def show(result)
  puts format("%-36<what>s %8.2<cpu_us>f us of CPU time  %8.2<wall_us>f us  %9.0<rate>f/s", **result, rate: 1e6 / result[:wall_us])
end

is_recorded = ARGV.delete("--record")
results = ARGV.first ? run(ARGV.first) : Dir.mktmpdir { |dir| run(dir) }
if is_recorded
  require_relative "lib/bench"
  Bench::Record.new.write("entities", { results: results, command: "ruby -Ilib bench/entities.rb" })
end

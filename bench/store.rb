# frozen_string_literal: true

# Measures what one call of the store costs in Ruby: `ruby -Ilib bench/store.rb [DIR]`. DIR should be on the disk that matters.
require "elah"
require "tmpdir"

KEYS = 10_000
CALLS = 1_000_000
WRITERS = 64
WRITES = 40

def report(name, calls)
  started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
  puts format("%-52s %9.3f us  %12.0f/s", name, seconds / calls * 1e6, calls / seconds)
end

def measure(dir)
  store = Elah::Store.open(dir)
  links = store.table("links")
  visits = store.counter("visits", durability: :memory)
  keys = Array.new(KEYS) { |i| format("%07x", (i * 7919) % KEYS) }
  store.transaction { |tx| keys.each { |key| tx.put(links, key, "https://example.com/a/target/of/usual/length/#{key}") } }
  order = Array.new(CALLS) { keys.sample }
  visits.increment(keys.first)
  report("an empty block, to subtract", CALLS) { order.each { |key| key } }
  report("get, 10,000 keys at random", CALLS) { order.each { |key| links.get(key) } }
  report("get, key absent", CALLS) { CALLS.times { links.get("absent") } }
  report("increment :memory, one key", CALLS) { CALLS.times { visits.increment("one") } }
  report("increment :memory, 10,000 keys at random", CALLS) { order.each { |key| visits.increment(key) } }
  report("counter get, 10,000 keys at random", CALLS) { order.each { |key| visits.get(key) } }
  report("get + increment :memory, as a redirect does", CALLS) { order.each { |key| links.get(key) && visits.increment(key) } }
  report("range of 20 after a key", CALLS / 10) { order.first(CALLS / 10).each { |key| links.range(after: key, limit: 20) } }
  report("put, one thread", 500) { 500.times { |i| links.put("put#{i}", "x" * 60) } }
  report("put, #{WRITERS} threads", WRITERS * WRITES) do
    Array.new(WRITERS) { |n| Thread.new { WRITES.times { |i| links.put("put#{n}-#{i}", "x" * 60) } } }.each(&:join)
  end
  store.close
end

ARGV.first ? measure(ARGV.first) : Dir.mktmpdir { |dir| measure(dir) }

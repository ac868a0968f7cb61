# frozen_string_literal: true

# Measures the latencies of requests during a backup of a store of 1 GB, and how much its file grows meanwhile:
# `ruby -Ilib bench/backup.rb [DIR]`. DIR should be on the disk that matters.
require "elah"
require "fileutils"
require "net/http"
require "tmpdir"

ENTRIES = 250_000
VALUE_BYTES = 3900
READS = 300 # a second
WRITES = 30
SECONDS = 20
ROUNDS = 3
PORT = 7391

APP = <<~RUBY
  TABLE = Elah::Store.open(File.join(Elah.config.data, "heap"), bytes_max: 8 * 1024**3).table("heap")

  class Heap < Elah::API
    format :txt
    get("read") { TABLE.get(format("%08d", rand(#{ENTRIES}))).bytesize.to_s }
    post("write") { TABLE.put(format("%08d", rand(#{ENTRIES})), Random.bytes(#{VALUE_BYTES})).to_s }
  end
  run Heap
RUBY

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def fill(data)
  store = Elah::Store.open(File.join(data, "heap"), bytes_max: 8 * 1024**3)
  table = store.table("heap")
  (0...ENTRIES).each_slice(500) do |part|
    store.transaction { |tx| part.each { |number| tx.put(table, format("%08d", number), Random.bytes(VALUE_BYTES)) } }
  end
  store.close
end

# Sends requests at a fixed rate over one connection, and returns their latencies in milliseconds.
def latencies(request, rate)
  Net::HTTP.start("127.0.0.1", PORT) do |http|
    started = now
    Array.new(rate * SECONDS) do |number|
      ahead = started + number.fdiv(rate) - now
      sleep(ahead) if ahead.positive?
      sent = now
      http.request(request)
      (now - sent) * 1000
    end.sort
  end
end

def show(name, sorted)
  figures = [0.5, 0.99, 0.999].map { |part| format("%8.2f", sorted[(sorted.size * part).to_i]) }
  puts "#{name.ljust(24)} #{figures.join(' ')} #{format('%8.2f', sorted.last)}"
end

def load_server(name)
  reads = Thread.new { latencies(Net::HTTP::Get.new("/read"), READS) }
  writes = Thread.new { latencies(Net::HTTP::Post.new("/write"), WRITES) }
  show("read, #{name}", reads.value)
  show("write, #{name}", writes.value)
end

def elah(*arguments) = ["ruby", "-EUTF-8", "-I#{File.expand_path('../lib', __dir__)}", File.expand_path("../exe/elah", __dir__), *arguments]

def backing_up(data, copy)
  ended = false
  count = 0
  backups = Thread.new do
    until ended
      FileUtils.rm_rf(copy)
      system(*elah("store", "backup", copy, "--data", data), out: File::NULL) or abort "The backup failed."
      count += 1
    end
  end
  yield
  ended = true
  backups.join
  puts "#{count} backups"
end

# A backup whose stream nobody reads holds its moment.
def growth(data)
  file = File.join(data, "heap", "data.mdb")
  before = File.size(file)
  written = 0
  IO.popen(elah("store", "backup", "-", "--data", data), err: File::NULL) do |stream|
    stream.readpartial(1)
    Net::HTTP.start("127.0.0.1", PORT) do |http|
      until_time = now + SECONDS
      while now < until_time
        http.request(Net::HTTP::Post.new("/write"))
        written += 1
      end
    end
    stream.read
  end
  puts "#{written} writes of #{VALUE_BYTES} bytes during one backup: the file grew by #{File.size(file) - before} bytes"
end

def measure(dir)
  data = File.join(dir, "data")
  app = File.join(dir, "app.rb")
  File.write(app, APP)
  fill(data)
  server = Process.spawn(*elah("serve", app, "--data", data, "--bind", "tcp://127.0.0.1:#{PORT}"), err: File::NULL)
  begin
    Net::HTTP.get(URI("http://127.0.0.1:#{PORT}/read"))
  rescue Errno::ECONNREFUSED
    sleep 0.1
    retry
  end
  puts "#{'milliseconds'.ljust(24)}      p50      p99    p99.9      max"
  ROUNDS.times do
    load_server("no backup")
    backing_up(data, File.join(dir, "copy")) { load_server("during backups") }
  end
  growth(data)
ensure
  Process.kill(:TERM, server) if server
  Process.wait(server) if server
end

ARGV.first ? measure(ARGV.first) : Dir.mktmpdir { |dir| measure(dir) }

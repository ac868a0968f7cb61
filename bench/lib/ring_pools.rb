# frozen_string_literal: true

require "fileutils"
require "json"
require "net/http"
$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "elah"
require_relative "paused_worker"

module Bench
  # Owns what `bench/ring_pools` measures. Every result is a Hash of name, what, figure, unit and target.
  class RingPools
    NAMES = %w[memory disk pace paused cost restart].freeze
    APP = "apps/ring_pools/app.rb"
    BULK = "/api/2013-07-01/bulk.json"
    POOLS = 400
    NUMBERS = 50
    # Of a pool at the restart, so that a million numbers do not take 20,000 requests to make.
    NUMBERS_HELD = 200
    ROWS = 40
    ROWS_MAX = 1000
    BODIES = 500
    # So short that 20,000 numbers serve 400,000 allocations a second.
    LIFETIME_SECONDS = 0.05
    # On each connection.
    REQUESTS_PER_SECOND = 30
    DEADLINE_MS = 150
    TARGETS = { "memory" => 100_000, "disk" => 40_000 }.freeze

    # @param seconds [Integer] of a run
    # @param held [Integer] numbers that are held at the restart
    # @yieldparam line [String] of progress
    def initialize(seconds:, held:, &progress)
      @seconds = seconds
      @held = held
      @progress = progress
    end

    # @param name [String] of NAMES
    # @return [Array<Hash>]
    def run(name)
      send(:"run_#{name}").map do |result|
        @progress.call("#{result[:what]}: #{result[:figure]} #{result[:unit]}")
        { name: name, **result }
      end
    end

    private

    def run_memory = saturated("memory")
    def run_disk = saturated("disk")

    def saturated(durability)
      serve(durability) do |server, requests|
        saturate(server, requests, 2)
        before = counts(server)
        load = nil
        use = CpuUse.of(server.tree) { load = saturate(server, requests, @seconds) }
        given, overflows = counts(server).zip(before).map { |after, then_| after - then_ }
        rate = load["requests"] * ROWS / load["seconds"]
        [result("#{durability}: allocations", rate.round, "per second", "≥ #{Tables.thousands(TARGETS[durability])}"),
         result("#{durability}: CPU time of an allocation", (use.server_seconds * 1e6 / (load["requests"] * ROWS)).round(2), "µs"),
         result("#{durability}: of which overflowed", (overflows * 100.0 / (given + overflows)).round(2), "%")]
      end
    end

    # Sends are planned ahead, as independent clients make them, and times count from the plan.
    def run_pace = [1, 2].flat_map { |workers| latencies(workers) }

    def latencies(workers)
      serve("memory", workers: workers) do |server, requests|
        load = Bench.generators.pace(server.url(BULK), rate: CONNECTIONS * REQUESTS_PER_SECOND, seconds: @seconds, warmup: 1, status: 200,
                                                       arrivals: "poisson", paths_file: requests)
        what = "#{REQUESTS_PER_SECOND} requests/s on each of #{CONNECTIONS} connections, #{workers == 1 ? '1 worker' : "#{workers} workers"}"
        p90, p99 = load["latency_us"].values_at("p90", "p99").map { |time| (time / 1000.0).round(2) }
        [result("#{what}: p90", p90, "ms", "< 10"), result("#{what}: p99", p99, "ms", "< 25")]
      end
    end

    def run_paused
      serve("memory", workers: 2) do |server, requests|
        times = PausedWorker.new(server, File.readlines(requests, chomp: true).map { |request| request.split("\t").last }, @seconds).run
        [result("two workers: p99", times[:normal].round(1), "ms"),
         result("while one is paused: p99 of #{times[:asked]} requests", times[:paused].round(1), "ms", "< #{DEADLINE_MS + 10}"),
         result("after SIGCONT: until all pools answer", times[:whole_after].round(2), "s", "< 1"),
         result("from 1 s after SIGCONT on: p99", times[:resumed].round(1), "ms")]
      end
    end

    # The pool alone, without server and store, in turns.
    def run_cost
      cases = { "empty pool of 10 numbers" => [10, 0.0], "pool of 10,000 numbers, 99 % held" => [10_000, 0.99] }
      times = cases.transform_values { [] }
      5.times { cases.each { |name, (count, share)| times[name] << allocation_us(count, share) } }
      medians = times.transform_values { |all| Statistics.median(all) }
      small, large = medians.values
      medians.map { |name, time| result("an allocation in an #{name}".sub("an pool", "a pool"), time.round(2), "µs") } <<
        result("full pool ÷ empty pool", (large / small).round(2), "", "≤ 2")
    end

    # The time of a pool that is measured alone.
    Clock = Struct.new(:now)

    # CPU time of one allocation, that of the hold that ends with it included.
    def allocation_us(count, share, turns: 100_000)
      held = [(count * share).round, 1].max
      clock = Clock.new(1)
      pool = Elah::LeasePool.new(Array.new(count) { |index| 12_000_000_000 + index }, hold: 1000, clock: clock)
      step = (1_000_000_000 / held) + 1
      held.times { take(pool, clock, step) }
      started_at = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      turns.times { take(pool, clock, step) }
      (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started_at) * 1e6 / turns
    end

    def take(pool, clock, step)
      clock.now += step
      pool.lease or raise "the pool was full"
    end

    def run_restart
      data = fresh("restart")
      server = server(data, "memory")
      keys = server.run do
        create(server, @held / NUMBERS_HELD, 86_400, NUMBERS_HELD).tap do |pools|
          pools.each_slice(ROWS_MAX / NUMBERS_HELD) { |some| hold_all(server, some) }
        end
      end
      seconds = since_start(server, bulk(keys.last(ROWS)))
      [result("restart with #{Tables.thousands(@held)} held numbers: until the first bulk request is answered", seconds.round(3), "s", "< 1")]
    ensure
      FileUtils.rm_rf(data) if data
    end

    def hold_all(server, keys)
      body = bulk(keys.flat_map { |key| [key] * NUMBERS_HELD })
      answer = post(server, BULK, body)
      raise "a number overflowed" if answer.include?("overflow")
    end

    def since_start(server, body)
      started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      server.run do
        answer = post(server, BULK, body)
        raise "held numbers were forgotten" unless answer.scan('"overflow":true').size == ROWS

        Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at
      end
    end

    # @yieldparam server [Server] with its pools
    # @yieldparam requests [String] a file of bulk requests, as the generators read it
    def serve(durability, workers: 1)
      data = fresh(durability)
      server = server(data, durability, workers)
      server.run do
        keys = create(server, POOLS, LIFETIME_SECONDS)
        requests = File.join(Bench.work_directory, "ring_pools.tsv")
        random = Random.new(1)
        File.write(requests, Array.new(BODIES) { "POST\t#{BULK}\t#{bulk(Array.new(ROWS) { keys.sample(random: random) }, random)}\n" }.join)
        yield server, requests
      end
    ensure
      FileUtils.rm_rf(data) if data
    end

    def fresh(name) = File.join(Bench.work_directory, "ring_pools-#{name}").tap { |folder| FileUtils.rm_rf(folder) }

    def server(data, durability, workers = 1)
      Bench.elah(APP, "--data", data, "--set", "ring_pools_durability=#{durability}", "--set", "ring_pools_deadline_ms=#{DEADLINE_MS}",
                 workers: workers)
    end

    # @return [Array<Array(Integer, String)>] id and key of each pool
    def create(server, pools, lifetime_seconds, size = NUMBERS)
      Net::HTTP.start("127.0.0.1", server.port) do |http|
        Array.new(pools) do |pool|
          numbers = Array.new(size) { |index| "+1#{2_002_000_000 + ((pool * size) + index)}" }
          fields = { numbers: numbers, lifetime_seconds: lifetime_seconds, overflow_number: "+18885550000", tracking_url: "https://example.com/c" }
          answer = http.post("/pools", JSON.generate(fields), "content-type" => "application/json")
          raise "a pool was refused with #{answer.code}: #{answer.body}" unless answer.code == "201"

          JSON.parse(answer.body).values_at("id", "api_key")
        end
      end
    end

    def bulk(keys, random = Random.new(1))
      rows = keys.map do |id, key|
        { api_suffix: "#{id}/allocate_number.json?ring_pool_key=#{key}&m1=autos&m2=ford", request_id: format("%06X", random.rand(16**6)) }
      end
      JSON.generate({ requests: rows })
    end

    def post(server, path, body)
      answer = Net::HTTP.post(URI(server.url(path)), body, "content-type" => "application/json")
      answer.code == "200" ? answer.body : raise("#{path} was answered #{answer.code}: #{answer.body}")
    end

    # @return [Array(Integer, Integer)] allocations and overflows of all pools
    def counts(server)
      Net::HTTP.start("127.0.0.1", server.port) do |http|
        (1..POOLS).map { |id| JSON.parse(http.get("/pools/#{id}").body).values_at("allocations", "overflows") }.transpose.map(&:sum)
      end
    end

    def saturate(server, requests, seconds) = Bench.generators.saturate(server.url(BULK), seconds: seconds, paths_file: requests)

    def result(what, figure, unit, target = nil) = { what: what, figure: figure, unit: unit, target: target }
  end
end

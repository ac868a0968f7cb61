# frozen_string_literal: true

# Measures a cluster on three machines: `ruby -Ilib -Itest bench/machines.rb [throughput] [calls] [death] [--rounds N] [--seconds N] [--record]`.
# The machines are network namespaces of this one. It needs root, nftables, PostgreSQL and wrk.
#
# throughput: ring_pools and leaderboards on three machines with a worker each, beside three workers of one machine, in turns. Each side has a
#             database of its own on one server, with fsync.
# calls:      a read of an entity that another machine owns, one at a time, beside one of the machine's own. The cores are kept awake.
# death:      the time from the moment at which a machine is cut off and killed until each account that it owned has been written by another.
require "minitest"
require "elah"
require "support/bank_clients"
require "support/machines_cluster"
require_relative "lib/awake"
require_relative "lib/generator_process"
require_relative "lib/procfs"
require_relative "lib/statistics"
require_relative "lib/turns"

# What is measured, and the figures.
class MachinesBench
  CONNECTIONS = 8
  POOLS = 60
  NUMBERS = 50
  ROWS = 10
  BOARDS = 30
  MEMBERS = 20
  # So many that almost every submission changes a score.
  REQUESTS = 5000
  LEASE_SECONDS = 5
  CALLS = 2000
  ACCOUNTS = 64
  BULK = "/api/2013-07-01/bulk.json"
  APPS = { ring_pools: { ring_pools_deadline_ms: 20_000 }, leaderboards: {} }.freeze
  TIMED = BankCluster::APP.sub(/^run Bank$/, <<~RUBY)
    class Bank
      get("/timed/:key/:count") do
        times = Array.new(params[:count].to_i) do
          start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          ACCOUNTS[params[:key]].balance
          Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start
        end
        { ns: times }
      end
    end
    run Bank
  RUBY

  def initialize(rounds, seconds)
    @rounds = rounds
    @seconds = seconds
    @random = Random.new(1)
  end

  # @return [Array<Hash>] what, figure, unit and target of each result
  def throughput = APPS.flat_map { |app, settings| compare(app, settings) }

  def calls
    machines(2, app: TIMED) do |cluster|
      keys = keys_by_owner(cluster)
      runs = Bench::Awake.keep do
        Bench::Turns.take(%w[node1 node2], @rounds) { |node| time_calls(cluster.servers[0], keys.fetch(node).first) }
      end
      own, other = runs.values_at("node1", "node2").map { |found| Bench::Statistics.spread(found) }
      [result("p50 of a call to another machine", other, "µs", "< 300"), result("p50 of a call of the machine's own", own, "µs")]
    end
  end

  def death
    machines(3, app: BankCluster::APP) do |cluster|
      times = Array.new(@rounds) { kill_machine(cluster).tap { |seconds| note("  #{seconds.round(2)} s") } }
      [result("from the death of a machine to the last account, leases of #{LEASE_SECONDS} s", Bench::Statistics.spread(times), "s",
              "≤ #{LEASE_SECONDS + 1}")]
    end
  end

  private

  def machines(count, **options, &block)
    MachinesCluster.start(count, lease_seconds: LEASE_SECONDS, database: { durable: true }, **options, &block)
  end

  def note(line) = warn(line)

  def result(what, spread, unit, target = nil)
    { what: what, figure: spread[:median].round(2), min: spread[:min].round(2), max: spread[:max].round(2), unit: unit, target: target }
  end

  # Both sides run all the time; one of them is under load.
  def compare(app, settings)
    machines(3, more: 1, app: File.expand_path("../apps/#{app}/app.rb", __dir__), settings: settings) do |cluster|
      workers = add_workers(cluster)
      sides = { "3 machines" => cluster.servers.first(3), "3 workers" => [workers] * 3 }
      files = sides.transform_values { |servers| send(:"prepare_#{app}", servers.first) }
      sides.each { |name, servers| saturate(servers, files[name], 2) }
      runs = Bench::Turns.take(sides.keys, @rounds) do |name|
        measure(cluster, sides[name], files[name]).tap { |run| note("  #{app}, #{name}: #{run}") }
      end
      figures(app, *runs.values_at("3 machines", "3 workers"))
    end
  end

  def figures(app, machines, workers)
    ratio = Bench::Turns.ratio(machines, workers, :requests_per_s)
    sides = { "3 machines" => machines, "3 workers" => workers }
    [result("#{app}: requests/s, 3 machines ÷ 3 workers of one", ratio, "", "≥ 0.8"),
     *sides.flat_map do |side, runs|
       { requests_per_s: "requests/s", servers_us: "µs of CPU of the servers", database_us: "µs of CPU of the database" }.map do |key, unit|
         result("#{app}: #{side}, #{unit.sub('µs of ', '')}#{' of a request' unless key == :requests_per_s}",
                Bench::Statistics.spread(runs.map { |run| run[key] }), unit[/\A\S+/])
       end
     end]
  end

  # Three workers of the fourth machine, with a database of their own on the same server.
  def add_workers(cluster)
    cluster.sql.execute("CREATE DATABASE workers")
    url = cluster.url.sub(/\w+\z/, "workers")
    server = cluster.boot(4, cluster: url, workers: 3)
    sql = Elah::SQL.new(cluster.database.url.sub(/\w+\z/, "workers"), connections_max: 1)
    found = []
    until found.size == 3 && found.sum == AppCluster::OPTIONS[:shards] && found.max - found.min <= 1
      found = sql.query(AppCluster::MEMBERS).map { |row| row["shards"] }
      sleep 0.1
    end
    sql.close
    server
  end

  # @return [String] file of requests
  def prepare_ring_pools(server)
    pools = Array.new(POOLS) do |pool|
      numbers = Array.new(NUMBERS) { |number| format("+1202%<pool>03d%<number>04d", pool: 200 + pool, number: number) }
      post(server, "/pools", numbers: numbers, overflow_number: "+18885550000", lifetime_seconds: 0.05)
    end
    requests do
      rows = pools.sample(ROWS, random: @random).map do |pool|
        { api_suffix: "#{pool['id']}/allocate_number.json?ring_pool_key=#{pool['api_key']}&a=1" }
      end
      ["POST", BULK, { requests: rows }]
    end
  end

  def prepare_leaderboards(server)
    game = post(server, "/games", name: "Karts")["id"]
    boards = Array.new(BOARDS) { post(server, "/games/#{game}/leaderboards", name: "Points")["id"] }
    requests do
      ["PUT", "/leaderboards/#{boards.sample(random: @random)}/members/member#{@random.rand(MEMBERS)}",
       { score: @random.rand(1_000_000), operator: "set" }]
    end
  end

  def post(server, path, **fields)
    response = server.request("POST", path, body: JSON.generate(fields), headers: { "Content-Type" => "application/json" })
    response.status == 201 ? response.json : raise("#{path}: #{response.status} #{response.body}")
  end

  def requests
    lines = Array.new(REQUESTS) { yield.then { |verb, path, body| "#{verb}\t#{path}\t#{JSON.generate(body)}\n" } }
    (@files ||= []) << file = Tempfile.create("requests")
    file.write(*lines)
    file.close
    file.path
  end

  # @return [Integer] requests per second, of a generator for each server
  def saturate(servers, file, seconds)
    runs = servers.map do |server|
      command = ["wrk", "-t1", "-c#{CONNECTIONS}", "-d#{seconds}s", "--timeout", "30s", "-s", "bench/wrk/json.lua", server.http_url, "--", file]
      Thread.new { Bench::GeneratorProcess.run(command, seconds_max: seconds + 60).first }
    end.map(&:value)
    runs.each { |run| raise "wrk met errors: #{run['errors']}" unless run["errors"].values.sum.zero? }
    runs.sum { |run| run["requests"] }
  end

  def measure(cluster, servers, file)
    trees = [servers.map(&:pid).uniq, [cluster.database.pid]]
    before = trees.map { |pids| cpu_seconds(pids) }
    count = saturate(servers, file, @seconds)
    used = trees.map { |pids| cpu_seconds(pids) }.zip(before).map { |now, then_| (now - then_) / count * 1e6 }
    { requests_per_s: count / @seconds, servers_us: used[0].round(1), database_us: used[1].round(1) }
  end

  def cpu_seconds(pids) = pids.sum { |pid| Bench::ProcessTree.new(pid).cpu_seconds }

  # @return [Hash{String=>Array<String>}] accounts by the machine that owns them
  def keys_by_owner(cluster)
    nodes = cluster.members.transform_values { |member| member["node"] }
    Array.new(ACCOUNTS) { |number| "account#{number}" }.group_by do |key|
      nodes.fetch(cluster.servers.last.request("POST", "/#{key}/1").json["writer"].to_s)
    end
  end

  # @return [Float] median, in microseconds
  def time_calls(server, key)
    Bench::Statistics.median(server.get("/timed/#{key}/#{CALLS}").json["ns"]) / 1e3
  end

  # @return [Float] seconds
  def kill_machine(cluster)
    keys = keys_by_owner(cluster).fetch("node1")
    cluster.machines.cut(1)
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    cluster.servers[0].kill
    ends = keys.map { |key| Thread.new { write_until_served(cluster.servers[1], key) } }.map(&:value)
    cluster.machines.join(1)
    boot_when_reachable(cluster)
    cluster.wait_until_spread(3)
    ends.max - start
  end

  # The network of a machine that is back takes a while to find the others.
  def boot_when_reachable(cluster, attempts: 20)
    cluster.boot(1)
  rescue ElahServer::Failure
    (attempts -= 1).positive? ? retry : raise
  end

  def write_until_served(server, key)
    sleep 0.05 until HttpClient.open(server.url) { |client| client.request("POST", "/#{key}/1").status } == 201
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end

arguments = ARGV.dup
is_recorded = arguments.delete("--record")
rounds, seconds = { "--rounds" => 5, "--seconds" => 5 }.map do |flag, default|
  (at = arguments.index(flag)) ? Integer(arguments.slice!(at, 2).last) : default
end
obstacle = MachinesCluster.obstacle and abort obstacle
bench = MachinesBench.new(rounds, seconds)
parts = arguments.empty? ? %w[throughput calls death] : arguments
results = parts.flat_map do |part|
  bench.public_send(part).each do |result|
    puts format("%-75<what>s %9.2<figure>f %-3<unit>s  %<min>.2f to %<max>.2f  %<target>s", **result)
  end
end
if is_recorded
  require_relative "lib/bench"
  Bench::Record.new.write("machines", { results: results, rounds: rounds, seconds: seconds, command: "ruby -Ilib -Itest bench/machines.rb" })
end

# frozen_string_literal: true

require_relative "../../test/support/servers"
require_relative "saturation"
require_relative "stats_contenders"
require_relative "turns"

module Bench
  # Owns the contests of `bench/stats`: which request is sent, to whom besides apps/stats, and the least ratio.
  class Stats
    APP = "apps/stats/app.rb"
    CONNECTIONS = 250
    # What is accepted faster than it is delivered must have room for as long as a contest takes.
    JOURNAL_BYTES_MAX = 16 * 1024**3
    BATCH_EVENTS = 100
    DATABASES = { mongodb: ::Servers::MongoJavaServer, mariadb: ::Servers::MariaDB }.freeze
    DATABASE_SETTINGS = { mariadb: ::Servers::MariaDB::UNDER_LOAD }.freeze

    # A request that is sent again and again: what it asks for, its body, how many events are in it.
    Request = Struct.new(:verb, :path, :body, :headers, :events)
    # Elah on a destination beside another server, in words, with the least ratio of their requests or the least events of Elah in a second.
    Contest = Struct.new(:title, :request, :destination, :other, :target, :events_target)

    JSON_TYPE = "Content-Type: application/json"
    DISK = "Prefer: durability=disk"
    GET = Request.new("GET", "/stats?path=/pricing&campaign=autumn", nil, [], 1)
    POST = Request.new("POST", "/stats", '{"path":"/signup","plan":"small","seats":3}', [JSON_TYPE], 1)
    BATCH = Request.new("POST", "/stats/batch", JSON.generate(Array.new(BATCH_EVENTS) { |n| { path: "/page/#{n}", plan: "small", seats: n } }),
                        [JSON_TYPE, "#{DISK}, return=minimal"], BATCH_EVENTS)

    def self.on_disk(request) = request.dup.tap { |on_disk| on_disk.headers = [*request.headers, DISK] }
    private_class_method :on_disk

    CONTESTS = {
      "get-memory" => Contest.new("GET, memory ÷ bare hyper", GET, :store, :bare, 0.45),
      "post-memory" => Contest.new("POST, memory ÷ bare hyper", POST, :store, :bare, 0.45),
      "get-disk" => Contest.new("GET, disk ÷ bare hyper", on_disk(GET), :store, :bare, 0.35),
      "post-disk" => Contest.new("POST, disk ÷ bare hyper", on_disk(POST), :store, :bare, 0.35),
      "batch-disk" => Contest.new("POST of #{BATCH_EVENTS} events, disk ÷ bare hyper", BATCH, :store, :bare, nil, 400_000),
      "mongodb" => Contest.new("POST, memory, into mongo-java-server ÷ bare hyper", POST, :mongodb, :bare, 0.40),
      "mariadb" => Contest.new("POST, memory, into MariaDB ÷ bare hyper", POST, :mariadb, :bare, 0.40),
      "nginx" => Contest.new("GET, memory ÷ nginx that writes an access log", GET, :store, :nginx, nil),
      "go" => Contest.new("POST, delivered to MariaDB by the sink ÷ Go net/http that inserts each", POST, :mariadb, :go, nil),
      "sinatra" => Contest.new("POST, by the sink into mongo-java-server ÷ Sinatra, Puma and the gem mongo", POST, :mongodb, :sinatra, nil)
    }.freeze
    NAMES = CONTESTS.keys.freeze

    # @param rounds [Integer]
    # @param seconds [Integer] of a run
    # @param warmup [Integer] seconds of load before it
    # @yieldparam line [String] of progress
    def initialize(rounds:, seconds:, warmup:, &progress)
      @rounds = rounds
      @timing = { seconds: seconds, warmup: warmup }
      @progress = progress
      @databases = {}
      @generators = Generators.new(core: GENERATOR_CORE, elah_load: nil, connections: CONNECTIONS)
      @body_file = File.join(Bench.work_directory, "stats_body")
    end

    # @param name [String] one of NAMES
    # @return [Hash] runs, ratios per round, and the commands of the servers
    def duel(name)
      contest = CONTESTS.fetch(name)
      elah(contest.destination).run do |elah|
        StatsContenders.public_send(contest.other, self).run { |other| measure(name, contest, { elah: elah, other: other }) }
      end
    end

    # @param kind [Symbol] :mongodb or :mariadb
    # @return [String] the URL of a server of that kind, on the generator's core
    def database(kind)
      @databases[kind] ||= DATABASES.fetch(kind).start(settings: DATABASE_SETTINGS.fetch(kind, {})).tap do |server|
        Bench.pin(server.pid, GENERATOR_CORE)
      end
      @databases[kind].url
    end

    # Ends the databases.
    def close = @databases.each_value(&:remove)

    private

    def elah(destination)
      data = Dir.mktmpdir("stats", Bench.work_directory)
      settings = destination == :store ? [] : ["--set", "stats_destination=#{database(destination)}"]
      Bench.elah(APP, "--data", data, "--sink-journal-bytes-max", JOURNAL_BYTES_MAX.to_s, *settings)
    end

    def measure(name, contest, servers)
      saturation = Saturation.new(@generators, **@timing, arguments: arguments(contest.request))
      runs = Turns.take(servers.keys, @rounds) do |side|
        alone(servers, side) { |server| saturation.run(server, server.url(contest.request.path)) }
          .tap { |run| @progress.call(Saturation.line(name, side, run)) }
      end
      { workload: name, title: contest.title, target: contest.target, events_target: contest.events_target,
        events: contest.request.events, runs: runs, ratios: ratios(runs),
        commands: servers.transform_values { |server| server.command.join(" ").gsub("#{ROOT}/", "") } }
    end

    # Elah delivers for a while after its run, on the same core: whoever does not run stands still.
    def alone(servers, side)
      others = servers.except(side).values
      others.each(&:pause)
      yield servers[side]
    ensure
      others.each(&:resume)
    end

    def arguments(request)
      File.write(@body_file, request.body) if request.body
      [request.verb, request.body ? @body_file : "-", *request.headers]
    end

    def ratios(runs)
      sides = runs.values_at(:elah, :other)
      { rate: Turns.ratio(*sides, :rate), p95: Turns.ratio(*sides, :p95_us) }
    end
  end
end

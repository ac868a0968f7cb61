# frozen_string_literal: true

require_relative "products"
require_relative "ruby_side"
require_relative "saturation"
require_relative "turns"

module Bench
  # Owns the contests of `bench/rails`: one Rails API on one database under Elah and under Puma, with a query that waits.
  class RailsQueries
    APP = "bench/apps/rails_queries.ru"
    # What 99 % of the requests take at most, by the milliseconds of the query.
    BOUNDS_MS = { 5 => 200, 50 => 200, 200 => 400 }.freeze
    # Requests that wait at once. Elah's pool has a connection for each, and Puma's for each thread.
    CONNECTIONS = 200
    # As Rails sets it until 7.1, and one for each request.
    PUMA_THREADS = [5, CONNECTIONS].freeze
    SETTLE_SECONDS_MAX = 60
    # Of the search for the highest rate, which each halves the range.
    STEPS = 5
    # Whether clients open a connection for each request. A thread of Puma waits 0.2 s for the next request of a connection, so with few threads
    # it may serve more of them this way. What it serves more of counts.
    CLOSING = Hash.new([false]).merge("Puma, #{PUMA_THREADS.first} threads" => [false, true]).freeze

    # @param ruby [RubySide] that runs both servers
    # @param url [String] of the database
    # @param rounds [Integer]
    # @param timing [Hash] seconds and warmup of a run
    # @yieldparam line [String] of progress
    def initialize(ruby, url, rounds:, **timing, &progress)
      @ruby = ruby
      @url = url
      @rounds = rounds
      @timing = timing
      @progress = progress
      @generators = Generators.new(core: GENERATOR_CORE, elah_load: File.join(RELEASE_DIRECTORY, "elah-load"), connections: CONNECTIONS)
    end

    # @param milliseconds [Integer] a key of BOUNDS_MS
    # @return [Hash] the runs of each server
    def contest(milliseconds)
      servers = { "Elah" => elah, **PUMA_THREADS.to_h { |threads| ["Puma, #{threads} threads", puma(threads)] } }
      servers.each_value(&:start)
      runs = Turns.take(servers.keys, @rounds) { |side| run(side, servers[side], milliseconds) }
      { milliseconds: milliseconds, bound_ms: BOUNDS_MS.fetch(milliseconds), connections: CONNECTIONS, versions: versions, runs: runs,
        commands: servers.transform_values { |server| command_of(server) } }
    ensure
      servers&.each_value(&:stop)
    end

    private

    # Neither server ends a request whose client has gone: the connections to the database stay open from run to run.
    def elah
      serve("elah", CONNECTIONS) { |port| ["exe/elah", "serve", APP, "--bind", "tcp://127.0.0.1:#{port}", "--workers", "1", "--cancel-gone", "none"] }
    end

    def puma(threads)
      serve("puma-#{threads}", threads) do |port|
        ["puma", "--quiet", "--threads", "#{threads}:#{threads}", "--bind", "tcp://127.0.0.1:#{port}", APP]
      end
    end

    def serve(name, pool)
      environment = { "RAILS_ENV" => "production", "RACK_ENV" => "production", "DATABASE_URL" => "#{@url}?pool=#{pool}" }
      Server.new("rails-#{name}", core: SERVER_CORE, directory: Bench.work_directory) { |port| @ruby.enter(*yield(port), environment: environment) }
    end

    def versions
      @versions ||= "Ruby #{@ruby.version}, " +
                    @ruby.ask("ruby", "-rrails", "-rpuma/const", "-e", "puts 'Rails ' + Rails.version + ', Puma ' + Puma::Const::PUMA_VERSION")
    end

    # Without how its Ruby is entered.
    def command_of(server) = server.command.drop_while { |word| !%w[exe/elah puma].include?(word) }.join(" ")

    # At its limit first: no search goes beyond.
    def run(side, server, milliseconds)
      path = "/waits/#{milliseconds}"
      settle(server, path, CONNECTIONS)
      limit = Saturation.new(@generators, seconds: @timing[:seconds], warmup: 0).run(server, server.url(path))
      bytes = ProcessTree.memory(server.tree.busiest_pid)[:private_bytes]
      @progress.call(Saturation.line("#{milliseconds} ms", side, limit))
      rates = CLOSING[side].to_h { |closing| [closing, highest_rate(limit[:rate]) { |rate| steady?(server, path, rate, milliseconds, closing) }] }
      closing, steady = rates.max_by(&:last)
      @progress.call("#{side}: #{steady.round} requests/s within the bound#{", a connection for each" if closing}, #{bytes / 1_000_000} MB")
      { **limit, steady_rate: steady, closing: closing, private_bytes: bytes }
    end

    # Returns when the server has worked off the requests of clients that have gone, and these. As many as there are connections fill its pool, and
    # to connect takes longer than a query.
    def settle(server, path, requests = 1)
      @generators.once(server.url(path), connections: requests, timeout: SETTLE_SECONDS_MAX).then do |report|
        report["failed"].zero? or raise "#{server.name} failed: #{report["failures"]}"
      end
    end

    # A rate that fails has a second chance: what else the machine does must not end a search.
    def highest_rate(limit)
      STEPS.times.reduce([0.0, limit]) do |(low, high), _|
        middle = (low + high) / 2
        2.times.any? { yield(middle) } ? [middle, high] : [low, middle]
      end.first
    end

    def steady?(server, path, rate, milliseconds, closing)
      settle(server, path)
      report = @generators.offer(server.url(path), rate: rate, arrivals: "poisson", closing: closing, **@timing)
      report["failed"].zero? && report["latency_us"]["p99"] < BOUNDS_MS.fetch(milliseconds) * 1000
    end
  end
end

# frozen_string_literal: true

require "fileutils"
require "json"
require "net/http"
require_relative "leaderboards/board_data"
require_relative "leaderboards/cpu_bound"
require_relative "leaderboards/io_bound"
require_relative "leaderboards/redis_contest"
require_relative "saturation"
require_relative "tables"
require_relative "turns"

module Bench
  # Owns the contests of `bench/leaderboards`: submissions and reads of one large board, beside bare hyper that answers as many bytes.
  class Leaderboards
    APP = "apps/leaderboards/app.rb"
    MEMBERS = 1_000_000
    TEN = 10
    LINES = 10_000

    # What is asked for, in words, and the least ratio to bare hyper.
    CONTESTS = {
      "submit-disk" => ["a score submitted, its rank returned, on disk", 0.30],
      "submit-memory" => ["a score submitted, its rank returned, in memory", 0.40],
      "rank" => ["score and rank of a member", 0.40],
      "top" => ["the first ten", 0.40],
      "around" => ["a member between its neighbours", 0.40]
    }.freeze
    EMBEDDED = [*CONTESTS.keys, "latency", "cpu-bound"].freeze
    NAMES = [*EMBEDDED, "redis", "io-bound"].freeze
    # How much slower the 99th percentile of a read may be with ten times the members, and how slow at all, in microseconds.
    TENFOLD_P99_MAX = 1.3
    P99_MAX_US = 2000

    # @param rounds [Integer]
    # @param seconds [Integer] of a run
    # @param warmup [Integer]
    # @param members [Integer]
    # @yieldparam line [String] of progress
    def initialize(rounds:, seconds:, warmup:, members: MEMBERS, &progress)
      @rounds = rounds
      @timing = { seconds: seconds, warmup: warmup }
      @members = members
      @progress = progress
    end

    # @param name [String] of NAMES
    # @return [Array<Hash>] what was measured, each with its name, in words, the figure and the target
    def run(name)
      case name
      when "latency" then latency
      when "redis" then RedisContest.new(@rounds, @timing, @progress).run
      when "cpu-bound" then CpuBound.new(@progress).run
      when "io-bound" then IoBound.new(@timing, @progress).run
      else contest(name)
      end
    end

    # Either server's answers to the same requests.
    #
    # @param server [Server]
    # @param lines [String] a file of requests
    # @return [Integer] the bytes of an answer on average
    # @raise [RuntimeError] when one is not good
    def self.answer_bytes(server, lines)
      samples = File.foreach(lines).first(200).map { |line| ask(server, *line.chomp.split("\t")) }
      samples.sum(&:bytesize) / samples.size
    end

    def self.ask(server, verb, path = nil, body = nil)
      request = path ? Net::HTTP::Put.new(path, "content-type" => "application/json") : Net::HTTP::Get.new(verb)
      request.body = body
      answer = Net::HTTP.start("127.0.0.1", server.port) { |http| http.request(request) }
      raise "#{server.name} answered #{answer.code}: #{answer.body}" unless answer.code == "200" && answer.body.include?('"rank":')

      answer.body
    end

    # Ten thousand requests, of which wrk takes one at random each time.
    #
    # @param name [String] what is asked for
    # @param members [Integer] of the board
    # @return [String] the file
    def self.lines_file(name, members)
      random = Random.new(1)
      path = File.join(Bench.work_directory, "leaderboards-#{name}-#{members}.txt")
      File.write(path, Array.new(LINES) { "#{line(name, BoardData.member(random.rand(members)), random)}\n" }.join)
      path
    end

    def self.line(name, member, random)
      stem = "/leaderboards/#{BoardData::BOARD}"
      case name
      when /submit/ then "PUT\t#{stem}/members/#{member}\t#{JSON.generate(score: random.rand(BoardData::SCORES), operator: 'set')}"
      when "rank" then "#{stem}/members/#{member}"
      when "top" then "#{stem}/top"
      else "#{stem}/members/#{member}/around"
      end
    end

    private

    def contest(name)
      title, target = CONTESTS.fetch(name)
      lines = Leaderboards.lines_file(name, @members)
      serve(@members, durability: name.end_with?("memory") ? "memory" : "disk") do |elah|
        bytes = Leaderboards.answer_bytes(elah, lines)
        Bench.bare_hyper(Links.new(Bench.work_directory), "bare_hyper", "--board-bytes", bytes.to_s).run do |bare|
          runs = in_turns({ elah: elah, bare: bare }, name, lines)
          rate = Turns.ratio(runs[:elah], runs[:bare], :rate)
          cpu = Turns.ratio(runs[:bare], runs[:elah], :cpu_us)
          [{ name: name, what: "#{title}: requests/s, ÷ bare hyper", figure: Tables.spread(rate), target: format("≥ %.2f", target), runs: runs },
           { name: name, what: "#{title}: CPU of bare hyper ÷ this", figure: Tables.spread(cpu), target: "" }]
        end
      end
    end

    # The 99th percentile of the look-up of a member at half load, with the members and with ten times as many, in turns.
    def latency
      serve(@members) do |usual|
        serve(@members * TEN) do |tenfold|
          sides = { usual => @members, tenfold => @members * TEN }
          rates = sides.to_h { |server, count| [server, saturate(server, Leaderboards.lines_file("rank", count))[:rate] / 2] }
          p99 = Turns.take(sides.keys, @rounds) { |server| paced(server, rates[server], sides[server]) }
          ratio = Statistics.spread(p99[tenfold].zip(p99[usual]).map { |large, small| large.to_f / small })
          [{ name: "latency", what: "p99 of a look-up at half load, µs", figure: Tables.spread(Statistics.spread(p99[usual])),
             target: "< #{P99_MAX_US}" },
           { name: "latency", what: "with ten times the members ÷ with the members", figure: Tables.spread(ratio), target: "≤ #{TENFOLD_P99_MAX}" }]
        end
      end
    end

    def serve(members, durability: "disk", &block)
      Bench.elah(APP, "--data", BoardData.folder(members), "--store-bytes-max", STORE_BYTES_MAX.to_s,
                 "--set", "leaderboards_durability=#{durability}", name: "elah-leaderboards-#{members}").run(&block)
    end

    def in_turns(servers, name, lines)
      Turns.take(servers.keys, @rounds) do |side|
        saturate(servers[side], lines).tap { |run| @progress.call(Saturation.line(name, side, run)) }
      end
    end

    def saturate(server, lines)
      Saturation.new(Bench.generators, **@timing, paths_file: lines).run(server, server.url("/"))
    end

    def paced(server, rate, members)
      file = Leaderboards.lines_file("rank", members)
      report = Bench.generators.pace(server.url("/"), rate: rate.round, status: 200, paths_file: file, **@timing)
      report["latency_us"]["p99"].tap { |p99| @progress.call("#{server.name}: #{rate.round} requests/s, p99 #{p99.round} µs") }
    end
  end
end

# frozen_string_literal: true

require_relative "../../test/support/servers"
require_relative "saturation"
require_relative "server"
require_relative "turns"

module Bench
  # The look-up of a link on three servers in turns: Elah and Sinatra on one Redis, bare hyper in memory.
  class RedisRound
    # @param links [Links]
    # @param rounds [Integer]
    # @param seconds [Integer] of each run
    # @param warmup [Integer] seconds of load before each run
    def initialize(links, rounds:, seconds:, warmup:)
      @links = links
      @rounds = rounds
      @saturation = Saturation.new(Bench.generators, seconds: seconds, warmup: warmup, paths_file: links.paths_file)
    end

    # @yieldparam line [String] one sentence of progress per run
    # @return [Hash] runs by server, ratios to Elah's, and the commands of the servers
    def run(&progress)
      ::Servers::Redis.start(settings: { "appendonly" => "no" }) do |redis|
        Bench.pin(redis.pid, GENERATOR_CORE)
        with_servers(redis.url) do |servers|
          @links.import(servers[:elah])
          compare_answers(servers)
          measure(servers, &progress)
        end
      end
    end

    private

    def with_servers(url)
      elah = Bench.elah("apps/links/app.rb", "--store", url)
      sinatra = Server.new("sinatra", core: SERVER_CORE, directory: Bench.work_directory, env: { "REDIS_URL" => url }) do |port|
        ["puma", "--quiet", "--environment", "production", "--threads", "16:16", "--bind", "tcp://127.0.0.1:#{port}", "bench/apps/links_sinatra.ru"]
      end
      elah.run do
        Bench.bare_hyper(@links).run { |bare| sinatra.run { yield({ elah: elah, bare: bare, sinatra: sinatra }) } }
      end
    end

    # Ends the program unless all redirect alike.
    def compare_answers(servers)
      places = servers.transform_values do |server|
        Net::HTTP.get_response("127.0.0.1", @links.first_path, server.port).then { |answer| [answer.code, answer["location"]] }
      end
      abort "the answers differ: #{places}" unless places.values.uniq.size == 1
    end

    def measure(servers, &progress)
      runs = Turns.take(servers.keys, @rounds) do |side|
        @saturation.run(servers[side], servers[side].url("/")).tap { |run| progress.call(Saturation.line(side, run)) }
      end
      { runs: runs, ratios: ratios(runs), commands: servers.transform_values { |server| server.command.join(" ") } }
    end

    # Elah's share of bare hyper's speed, and how many times Sinatra's it is.
    def ratios(runs)
      { bare: compare(runs, :bare), sinatra: compare(runs, :sinatra) }
    end

    def compare(runs, side)
      { rate: Turns.ratio(runs[:elah], runs[side], :rate), cpu: Turns.ratio(runs[side], runs[:elah], :cpu_us) }
    end
  end
end

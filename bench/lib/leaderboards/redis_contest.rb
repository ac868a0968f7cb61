# frozen_string_literal: true

require "tmpdir"
require_relative "../../../test/support/servers"

module Bench
  class Leaderboards
    # The same submissions and reads on one Redis, by apps/leaderboards and by Sinatra, Puma and the gem redis, which run the same scripts.
    # Redis and the generator share a core.
    class RedisContest
      NAMES = { "submit-redis" => "a score submitted, its rank returned", "rank" => "score and rank of a member", "top" => "the first ten",
                "around" => "a member between its neighbours" }.freeze
      MEMBERS = 100_000
      LEAST = 3
      THREADS = "16:16"

      # @param rounds [Integer]
      # @param timing [Hash] seconds and warmup of a run
      # @param progress [Proc] takes a line
      def initialize(rounds, timing, progress)
        @rounds = rounds
        @timing = timing
        @progress = progress
      end

      # @return [Array<Hash>]
      def run
        ::Servers::Redis.start(settings: { "appendonly" => "no" }) do |redis|
          Bench.pin(redis.pid, GENERATOR_CORE)
          data = Dir.mktmpdir("leaderboards", Bench.work_directory)
          elah(data, redis.url).run do |elah|
            name = fill(elah, redis.url)
            sinatra(redis.url, name).run { |other| NAMES.map { |what, title| contest(what, title, { elah: elah, sinatra: other }) } }
          end
        end
      end

      private

      def elah(data, url)
        Bench.elah(Leaderboards::APP, "--data", data, "--store", url, *BoardData::IMPORTING)
      end

      def sinatra(url, name)
        env = { "REDIS_URL" => url, "LEADERBOARDS_NAME" => name, "RACK_ENV" => "production" }
        Server.new("sinatra-leaderboards", core: SERVER_CORE, directory: Bench.work_directory, env: env) do |port|
          ["puma", "--quiet", "--environment", "production", "--threads", THREADS, "--bind", "tcp://127.0.0.1:#{port}",
           "bench/apps/leaderboards_sinatra.ru"]
        end
      end

      # @return [String] before the ids of boards in their keys
      def fill(server, url)
        BoardData.fill(server, MEMBERS)
        name_in(url)
      end

      def name_in(url)
        # Not before the extension is built with the clients.
        $LOAD_PATH.unshift(File.join(ROOT, "lib"))
        require "elah"
        redis = Elah::Redis.new(url)
        redis.keys("leaderboards:*:season").first[/\{(\w+):/, 1].tap { redis.close }
      end

      def contest(what, title, servers)
        lines = Leaderboards.lines_file(what, MEMBERS)
        servers.each_value { |server| Leaderboards.answer_bytes(server, lines) }
        saturation = Saturation.new(Bench.generators, **@timing, paths_file: lines)
        runs = Turns.take(servers.keys, @rounds) do |side|
          saturation.run(servers[side], servers[side].url("/")).tap { |run| @progress.call(Saturation.line(what, side, run)) }
        end
        ratio = Turns.ratio(*runs.values_at(:elah, :sinatra), :rate)
        { name: "redis", what: "on Redis, #{title}: requests/s, ÷ Sinatra", figure: Tables.spread(ratio), target: "≥ #{LEAST}", runs: runs }
      end
    end
  end
end

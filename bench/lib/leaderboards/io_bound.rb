# frozen_string_literal: true

require_relative "maria_board"

module Bench
  class Leaderboards
    # The original's second load test: fixed rates on a look-up that waits for MariaDB for nine tenths of its time, at the original's rates
    # and at ten and a hundred times those. Each server gets the same requests on the same tables.
    class IoBound
      RATES_PER_MINUTE = [1200, 3000, 12_000, 30_000, 120_000, 300_000].freeze
      # What the statement sleeps in the server, so that waiting is most of the request whoever asks.
      WAIT_SECONDS = 0.03
      CONNECTIONS = 400
      # A server that is this far behind is not asked for more.
      HELD_SHARE = 0.99

      # @param timing [Hash] seconds and warmup of a run
      # @param progress [Proc] takes a line
      def initialize(timing, progress)
        @timing = timing
        @progress = progress
        @generators = Generators.new(core: GENERATOR_CORE, elah_load: File.join(RELEASE_DIRECTORY, "elah-load"), connections: CONNECTIONS)
      end

      # @return [Array<Hash>]
      def run
        MariaBoard.start do |url|
          contenders(url).flat_map do |title, server|
            server.run { [share(title, server), *rates(title, server)] }
          end
        end
      end

      private

      def contenders(url)
        env = { "LEADERBOARDS_DATABASE_URL" => url, "LEADERBOARDS_POOL" => "200", "LEADERBOARDS_WAIT_SECONDS" => WAIT_SECONDS.to_s,
                "RACK_ENV" => "production" }
        puma = Server.new("puma-leaderboards_waiting", core: SERVER_CORE, directory: Bench.work_directory, env: env) do |port|
          ["puma", "--quiet", "--threads", "200:200", "--bind", "tcp://127.0.0.1:#{port}", "bench/apps/leaderboards_waiting.ru"]
        end
        { "Elah::API and Elah::SQL" => Bench.elah("bench/apps/leaderboards_waiting.rb", env: env),
          "Grape and ActiveRecord under Elah" => Bench.elah("bench/apps/leaderboards_waiting.ru", env: env),
          "Grape and ActiveRecord under Puma, 200 threads" => puma }
      end

      # How much of an unloaded request is the database's.
      def share(title, server)
        report = @generators.offer(url(server), rate: 5, **@timing)
        figure = format("%.0f %%", WAIT_SECONDS * 1e8 / report["latency_us"]["p50"])
        { name: "io-bound", what: "#{title}: share of a request that waits in the database", figure: figure, target: "≥ 90 %" }
      end

      def rates(title, server)
        kept_up = true
        RATES_PER_MINUTE.map do |rate|
          next row(title, rate, "not offered", "") unless kept_up

          report = @generators.offer(url(server), rate: rate / 60.0, **@timing)
          answered = report["requests_per_second"] * 60
          kept_up = report["failed"].zero? && answered > rate * HELD_SHARE
          row(title, rate, "#{answered.round} answered, #{report['failed']} failed, p99 #{(report['latency_us']['p99'] / 1000.0).round(1)} ms",
              kept_up ? "held" : "not held").tap { |result| @progress.call(result.values_at(:what, :figure, :target).join(": ")) }
        end
      end

      def row(title, rate, figure, held) = { name: "io-bound", what: "#{title}: #{rate} requests/minute", figure: figure, target: held }

      def url(server) = server.url("/leaderboards/3/users/77")
    end
  end
end

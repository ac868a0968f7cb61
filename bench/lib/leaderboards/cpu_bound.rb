# frozen_string_literal: true

module Bench
  class Leaderboards
    # The original's first load test: a look-up of score and rank by so many clients at once, all of whom send at the same moment, again and
    # again. What counts is that nobody fails.
    class CpuBound
      # Clients, and requests of all of them.
      STEPS = { 10 => 1000, 50 => 1000, 100 => 1000, 200 => 1000, 500 => 1000, 1000 => 2000 }.freeze
      MEMBERS = 10_000
      TIMEOUT_SECONDS = 30

      # @param progress [Proc] takes a line
      def initialize(progress)
        @progress = progress
      end

      # @return [Array<Hash>]
      def run
        server = Bench.elah(Leaderboards::APP, "--data", BoardData.folder(MEMBERS), "--store-bytes-max", STORE_BYTES_MAX.to_s)
        server.run { STEPS.map { |clients, requests| step(server, clients, requests) } }
      end

      private

      def step(server, clients, requests)
        url = server.url("/leaderboards/#{BoardData::BOARD}/users/#{BoardData.member(7)}")
        reports = Array.new(requests / clients) { Bench.generators.once(url, connections: clients, timeout: TIMEOUT_SECONDS) }
        failed = reports.sum { |report| report["failed"] }
        worst = reports.map { |report| report["latency_us"]["max"] }.max
        figure = "#{reports.sum { |report| report['answered'] }} answered, #{failed} failed, the slowest after #{(worst / 1000.0).round(1)} ms"
        @progress.call("#{clients} clients: #{figure}")
        { name: "cpu-bound", what: "#{requests} requests of #{clients} clients at once", figure: figure, target: "0 failed" }
      end
    end
  end
end

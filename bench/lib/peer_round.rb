# frozen_string_literal: true

require "json"
require "open3"

module Bench
  # Two workers of bench/apps/peers.rb: one on core 0 that answers requests, and one on core 1, beside the generator, that is called.
  class PeerRound
    APP = "bench/apps/peers.rb"
    # Requests that are answered here, and the same with a call to the other worker.
    PAIRS = { "one call" => %w[/local /remote], "a gather of 40 calls" => %w[/local_rows /remote_rows] }.freeze

    # @param folder [String] for the sockets
    def initialize(folder, rounds:, seconds:, calls:)
      @folder = folder
      @rounds = rounds
      @seconds = seconds
      @calls = calls
    end

    # @yieldparam line [String] says what goes on
    # @return [Hash]
    def run(&log)
      workers do |front, owner|
        runs = Array.new(@rounds) { |round| PAIRS.to_h { |title, paths| [title, duel(front, owner, round.even? ? paths : paths.reverse, &log)] } }
        { rounds: @rounds, seconds: @seconds, pairs: PAIRS.keys.map { |title| summary(title, runs.map { |round| round[title] }) },
          calls: Array.new(@rounds) { raw_calls(&log) }, command: "bench/links" }
      end
    end

    private

    def workers
      owner = worker("owner", GENERATOR_CORE, "own=#{socket("owner")}")
      front = worker("front", SERVER_CORE, "own=#{socket("front")}", "other=#{socket("owner")}")
      owner.run { front.run { yield front, owner } }
    end

    def worker(name, core, *settings)
      Server.new(name, core: core, directory: Bench.work_directory) do |port|
        ["exe/elah", "serve", APP, "--config", "bench/apps/peers_config.rb", "--bind", "tcp://127.0.0.1:#{port}",
         *settings.flat_map { |setting| ["--set", setting] }]
      end
    end

    def socket(name) = File.join(@folder, "#{name}.sock")

    def duel(front, owner, paths)
      paths.to_h do |path|
        before = [front, owner].map { |server| server.tree.cpu_seconds }
        load = Bench.generators.saturate(front.url(path), seconds: @seconds)
        requests = load.fetch("requests")
        used_us = [front, owner].zip(before).map { |server, earlier| (server.tree.cpu_seconds - earlier) / requests * 1e6 }
        yield format("%-14s %8.0f requests/s, %6.2f µs CPU here, %6.2f there", path, requests / @seconds.to_f, *used_us)
        [path, { requests: requests, cpu_us: used_us.sum, front_us: used_us[0], owner_us: used_us[1] }]
      end
    end

    def summary(title, runs)
      local, remote = PAIRS.fetch(title)
      { title: title, local_us: median(runs, local), remote_us: median(runs, remote), runs: runs,
        ratio: Statistics.spread(runs.map { |run| run[remote][:cpu_us] / run[local][:cpu_us] }) }
    end

    def median(runs, path) = Statistics.median(runs.map { |run| run[path][:cpu_us] })

    def raw_calls
      command = ["taskset", "-c", SERVER_CORE, "ruby", "bench/apps/peer_calls.rb", socket("caller"), socket("owner"), @calls]
      output, status = Open3.capture2(*command.map(&:to_s))
      raise "bench/apps/peer_calls.rb failed" unless status.success?

      yield "calls          #{output}"
      JSON.parse(output, symbolize_names: true)
    end
  end
end

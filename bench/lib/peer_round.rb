# frozen_string_literal: true

require "json"
require "open3"
require_relative "saturation"

module Bench
  # Two workers of bench/apps/counts.rb, both on core 0 and the generator on core 1; and calls without HTTP between two processes, one per core.
  class PeerRound
    # Requests that are answered by the worker that got them, and the same by the other one.
    PAIRS = { "one call" => %w[/local /remote], "a gather of 40 calls" => %w[/local_rows /remote_rows] }.freeze

    # @param folder [String] for sockets and data
    def initialize(folder, rounds:, seconds:, calls:)
      @folder = folder
      @rounds = rounds
      @seconds = seconds
      @calls = calls
    end

    # @yieldparam line [String] says what goes on
    # @return [Hash]
    def run(&log)
      workers = Bench.elah("bench/apps/counts.rb", "--workers", "2", "--data", File.join(@folder, "data"))
      runs = workers.run do |server|
        Array.new(@rounds) { |round| PAIRS.to_h { |title, paths| [title, duel(server, round.even? ? paths : paths.reverse, &log)] } }
      end
      { rounds: @rounds, seconds: @seconds, pairs: PAIRS.keys.map { |title| summary(title, runs.map { |round| round[title] }) },
        calls: Array.new(@rounds) { raw_calls(&log) }, command: "bench/links" }
    end

    private

    def duel(server, paths)
      paths.to_h do |path|
        run = Saturation.new(Bench.generators, seconds: @seconds, warmup: 0).run(server, server.url(path))
        yield Saturation.line(path.ljust(14), run)
        [path, run]
      end
    end

    def summary(title, runs)
      local, remote = PAIRS.fetch(title)
      { title: title, local_us: median(runs, local), remote_us: median(runs, remote), runs: runs,
        ratio: Statistics.spread(runs.map { |run| run[remote][:cpu_us] / run[local][:cpu_us] }) }
    end

    def median(runs, path) = Statistics.median(runs.map { |run| run[path][:cpu_us] })

    def raw_calls
      output, status = Open3.capture2("ruby", "bench/apps/peer_calls.rb", @folder, SERVER_CORE.to_s, GENERATOR_CORE.to_s, @calls.to_s)
      raise "bench/apps/peer_calls.rb failed" unless status.success?

      yield "calls          #{output}"
      JSON.parse(output, symbolize_names: true)
    end
  end
end

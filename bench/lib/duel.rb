# frozen_string_literal: true

require_relative "saturation"
require_relative "statistics"

module Bench
  # One workload, measured on two servers in turns: A B, B A, A B and so on, so that a slow drift of the machine
  # meets both alike.
  class Duel
    # The load at which p99 is compared, as a share of each server's own capacity.
    PACED_SHARE = 0.5

    # @param workload [Workload]
    # @param servers [Hash{Symbol=>Server}] :elah and :bare, both running
    # @param generators [Generators]
    # @param rounds [Integer]
    # @param seconds [Integer] of each run
    # @param warmup [Integer] seconds of load before each run
    # @param paths_file [String, nil] what is asked for when the workload has no single path
    def initialize(workload, servers, generators, rounds:, seconds:, warmup:, paths_file:)
      @workload = workload
      @servers = servers
      @generators = generators
      @rounds = rounds
      @seconds = seconds
      @warmup = warmup
      @paths_file = workload.links? ? paths_file : nil
    end

    # @yieldparam line [String] one sentence of progress per run
    # @return [Hash] runs, ratios and the commands that were used
    def run(&progress)
      saturated = in_turns { |side| saturate(side, &progress) }
      rates = saturated.transform_values { |runs| (Statistics.median(runs.map { |run| run[:rate] }) * PACED_SHARE).round }
      paced = in_turns { |side| pace(side, rates[side], &progress) }
      { workload: @workload.name, title: @workload.title, target: @workload.target, saturated: saturated, paced: paced,
        ratios: ratios(saturated, paced), commands: commands(rates) }
    end

    private

    # @return [Hash{Symbol=>Array<Hash>}] the runs of each side, in the order of the rounds
    def in_turns
      runs = { elah: [], bare: [] }
      @rounds.times do |round|
        sides = round.even? ? %i[elah bare] : %i[bare elah]
        sides.each { |side| runs[side] << yield(side) }
      end
      runs
    end

    def saturate(side)
      saturation = Saturation.new(@generators, seconds: @seconds, warmup: @warmup, paths_file: @paths_file)
      saturation.run(@servers.fetch(side), url(side)).tap { |run| yield Saturation.line(@workload.name, side, run) }
    end

    def pace(side, rate)
      result = @generators.pace(url(side), rate: rate, seconds: @seconds, warmup: @warmup, status: @workload.status,
                                           paths_file: @paths_file)
      latency = result["latency_us"]
      yield format("%-5s %-4s %9d requests/s planned, p50 %5.0f µs, p99 %6.0f µs",
                   @workload.name, side, rate, latency["p50"], latency["p99"])
      { rate: rate, p50_us: latency["p50"], p99_us: latency["p99"], elah_load: result }
    end

    # Each is taken per round first, so that its range shows the noise.
    def ratios(saturated, paced)
      { rate: per_round(saturated) { |elah, bare| elah[:rate] / bare[:rate] },
        cpu: per_round(saturated) { |elah, bare| bare[:cpu_us] / elah[:cpu_us] },
        p99: per_round(paced) { |elah, bare| elah[:p99_us] / bare[:p99_us] } }
    end

    def per_round(runs)
      Statistics.spread(runs[:elah].zip(runs[:bare]).map { |elah, bare| yield(elah, bare) })
    end

    def commands(rates)
      @servers.to_h do |side, server|
        pace = @generators.pace_command(url(side), rates[side], @seconds, @warmup, @workload.status, @paths_file)
        [side, { server: server.command.join(" "), saturate: @generators.wrk_command(url(side), @seconds, @paths_file).join(" "),
                 pace: pace.join(" ") }]
      end
    end

    def url(side)
      @servers.fetch(side).url(@workload.path || "/")
    end
  end
end

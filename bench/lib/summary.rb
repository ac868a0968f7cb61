# frozen_string_literal: true

require_relative "record"
require_relative "tables"

module Bench
  # The text of a record: a brief one for README.md and a whole one that stands beside the raw results.
  class Summary
    # @param record [Record]
    def initialize(record)
      @date = File.basename(record.directory)
      @ratios, @noise, @connections, @memory, @redis, @items, @stats, @long_run, @broadcast, @ring_pools, @leaderboards, @ranked_set =
        %w[ratios noise connections memory redis items stats long_run broadcast ring_pools leaderboards ranked_set].map { |name| record.read(name) }
      records = [@ratios, @connections, @memory, @redis, @items, @stats, @long_run, @broadcast, @ring_pools, @leaderboards, @ranked_set]
      @machine = records.compact.first&.fetch(:machine) or
        raise "#{record.directory} holds no results"
    end

    # @return [String] the first table, where and how it was taken, and where the others are
    def brief
      [tables.first, "Until #{@date}, #{@machine[:cpu]}, #{@machine[:system]}, #{@machine[:ruby][/ruby \S+/]} without YJIT, " \
                     "hyper #{@machine[:hyper]}. Server on one core, generator on the other, runs in turns, median and range. " \
                     "Clients, stores, sinks, pools, boards, sets and memory, each with its target, with commands and single runs: " \
                     "[bench/record/#{@date}](bench/record/#{@date}/summary.md).\n"].join("\n")
    end

    # @return [String] the tables with machine, versions, noise, single runs and commands
    def whole
      facts = @machine.map { |name, value| [name, value] }
      ["# Benchmark until #{@date}\n", *tables, "## Machine and versions\n", Tables.table(["", ""], facts), times, noise, runs, commands]
        .compact.join("\n")
    end

    private

    def tables
      [@ratios && Tables.ratios(@ratios[:duels]), @connections && Tables.connections(@connections),
       @memory && Tables.memory(@memory), @redis && Tables.redis(@redis), @items && Tables.items(@items[:duels]),
       @stats && Tables.stats(@stats[:duels]), @long_run && Tables.long_run(@long_run), @broadcast && Tables.broadcast(@broadcast),
       @ring_pools && Tables.ring_pools(@ring_pools[:results]),
       @leaderboards && Tables.leaderboards(@leaderboards[:results]), @ranked_set && Tables.ranked_set(@ranked_set[:figures])].compact
    end

    # When each was taken, of which commit: commands are recorded one by one, and the contests of bench/items and bench/stats as well.
    def times
      records = { "ratios" => @ratios, "noise" => @noise, "connections" => @connections, "memory" => @memory, "redis" => @redis,
                  "long_run" => @long_run, "broadcast" => @broadcast, "ring_pools" => @ring_pools, "leaderboards" => @leaderboards,
                  "ranked_set" => @ranked_set }.compact
      { "items" => @items, "stats" => @stats }.compact.each do |name, record|
        record[:duels].each { |duel| records["#{name}, #{duel[:workload]}"] = { machine: duel[:machine] || record[:machine] } }
      end
      ["## When\n", Tables.table(%w[what date commit], records.map { |name, record| [name, *record[:machine].values_at(:date, :commit)] })].join("\n")
    end

    def noise
      return unless @noise

      rows = @noise[:duels].map { |duel| [duel[:title], *%i[rate cpu p99].map { |key| Tables.spread(duel[:ratios][key]) }] }
      ["## Noise: bare hyper against itself\n", Tables.table(["Workload", "requests/s", "CPU per request", "p99"], rows)].join("\n")
    end

    def runs
      return unless @ratios

      rows = @ratios[:duels].flat_map do |duel|
        duel[:saturated].flat_map do |side, runs|
          runs.each_with_index.map { |run, index| run_row(duel, side, index, run) }
        end
      end
      ["## Every run\n", Tables.table(["Workload", "server", "round", "requests/s", "µs CPU", "server core", "generator core",
                                       "others", "p99 at half load"], rows)].join("\n")
    end

    def run_row(duel, side, index, run)
      shares = run.values_at(:server_share, :generator_share, :foreign_share).map { |share| format("%.0f %%", share * 100) }
      [duel[:workload], side, index + 1, Tables.thousands(run[:rate]), format("%.2f", run[:cpu_us]), *shares,
       format("%.0f µs", duel[:paced][side][index][:p99_us])]
    end

    def commands
      lines = (@ratios ? @ratios[:duels] : []).flat_map do |duel|
        duel[:commands].flat_map { |_side, commands| commands.values }
      end
      lines += [@connections, @memory, @long_run, @broadcast, @ranked_set].compact.map { |result| result[:command] }
      lines += @redis[:commands].values if @redis
      lines += @items[:duels].flat_map { |duel| duel[:commands].values.flat_map(&:values) } if @items
      lines += @stats[:duels].flat_map { |duel| duel[:commands].values } if @stats
      lines << "bench/ring_pools" if @ring_pools
      lines << "bench/leaderboards #{@leaderboards[:results].map { |result| result[:name] }.uniq.join(' ')}" if @leaderboards
      ["## Commands\n", "```\n#{lines.uniq.join("\n")}\n```\n"].join("\n")
    end
  end
end

# frozen_string_literal: true

require_relative "record"
require_relative "tables"
require_relative "targets"

module Bench
  # The text of a record: the missed targets for bench/README.md, and the tables, which stand beside the raw results.
  class Summary
    # What commands record, in the order of their tables; the noise is a part of its own.
    COMMANDS = %w[ratios sleeping connections memory link_creation redis items stats long_run broadcast ring_pools leaderboards ranked_set cluster
                  machines machine_calls yjit rubies rails instructions].freeze
    # Of the commands whose contests are recorded one by one: their list, and what names a contest.
    CONTESTS = { "ratios" => %i[duels workload], "noise" => %i[duels workload], "items" => %i[duels workload], "stats" => %i[duels workload],
                 "ring_pools" => %i[results name], "leaderboards" => %i[results name], "machines" => %i[results part], "yjit" => %i[contests contest],
                 "rubies" => %i[contests contest], "rails" => %i[contests milliseconds] }.freeze
    private_constant :COMMANDS, :CONTESTS

    # @param record [Record]
    # @raise [RuntimeError] when it holds nothing
    def initialize(record)
      @records = COMMANDS.to_h { |name| [name, record.read(name)] }.compact
      @machine = @records.values.map { |one| one[:machine] }.max_by { |machine| machine[:date] } or raise "#{record.folder} holds no results"
      @noise = record.read("noise")
    end

    # @return [String] where the tables are, every target that was missed, and the commands whose targets nobody has measured
    def brief
      lines = missed.map { |what, figure, target| "- #{what}: #{figure} (target: #{target})\n" }
      missed_text = lines.any? ? "It missed these targets:\n\n#{lines.join}" : "It missed none of its targets.\n"
      "[record/summary.md](record/summary.md) has the tables, with date, machine and command of each. Until #{date}, #{@machine[:cpu]}, " \
        "#{@machine[:system]}, " \
        "#{@machine[:ruby][/ruby \S+/]}, hyper #{@machine[:hyper]}. #{missed_text}#{unrecorded_text}"
    end

    # @return [String] the tables with missed targets, machine, versions, dates, noise, single runs and commands
    def whole
      facts = @machine.map { |name, value| [name, value] }
      ["# Benchmark until #{date}\n", *tables, missed_table, "## Machine and versions\n", Tables.table(["", ""], facts), times, noise, runs, commands]
        .compact.join("\n")
    end

    # @param name [String] of a command with contests
    # @return [String] its table for a page of the docs, with date, machine and command
    def page(name)
      record = @records[name] or return "Not recorded yet: `bench/#{name} --record`.\n"
      machine = record[:machine]
      options = record[:options].slice(:rounds, :seconds, :warmup, :ruby).compact.map { |option, value| "--#{option} #{value}" }.join(" ")
      facts = [machine[:date][0, 10], machine[:cpu], machine[:system], record[:contests].first[:versions]].compact.join(", ")
      "#{Tables.public_send(name, record[:contests])}\n#{facts}: `bench/#{name} #{options}`.\n"
    end

    private

    # Of the command that was measured last.
    def date = @machine[:date][0, 10]

    def missed = @records.flat_map { |name, record| Targets.missed(name, record) }

    # A target that nobody has measured is neither reached nor missed.
    def unrecorded_text
      commands = Targets.commands - @records.keys
      "\nNot recorded yet, with their targets: #{commands.map { |name| "`bench/#{name}`" }.join(", ")}.\n" if commands.any?
    end

    def missed_table
      return "## Targets missed\n\nNone.\n" if missed.empty?

      ["## Targets missed\n", Tables.table(%w[what figure target], missed)].join("\n")
    end

    def tables
      @records.map do |name, record|
        list, = CONTESTS[name]
        Tables.public_send(name, list ? record[list] : record.fetch(:results, record))
      end
    end

    # When each was taken, of which commit: commands are recorded one by one, and the contests of some as well.
    def times
      rows = { **@records, "noise" => @noise }.compact.flat_map do |name, record|
        list, key = CONTESTS[name]
        results = list ? record[list] : [record]
        results.map { |one| [[name, one[key]].compact.join(", "), *(one[:machine] || record[:machine]).values_at(:date, :commit)] }.uniq
      end
      ["## When\n", Tables.table(%w[what date commit], rows)].join("\n")
    end

    def noise
      return unless @noise

      rows = @noise[:duels].map { |duel| [duel[:title], *%i[rate cpu p99].map { |key| Tables.spread(duel[:ratios][key]) }] }
      ["## Noise: bare hyper against itself\n", Tables.table(["Workload", "requests/s", "CPU per request", "p99"], rows)].join("\n")
    end

    def runs
      return unless @records["ratios"]

      rows = @records["ratios"][:duels].flat_map do |duel|
        duel[:saturated].flat_map do |side, runs|
          runs.each_with_index.map { |run, index| run_row(duel, side, index, run) }
        end
      end
      ["## Every run\n", Tables.table(["Workload", "server", "round", "requests/s", "µs CPU", "server core", "generator core",
                                       "others", "p99 at half load"], rows)].join("\n")
    end

    def run_row(duel, side, index, run)
      shares = run.values_at(:server_share, :generator_share, :foreign_share).map { |share| format("%.0f %%", share * 100) }
      [duel[:workload], side, index + 1, Figures.rounded(run[:rate]), Figures.rounded(run[:cpu_us]), *shares,
       "#{Figures.rounded(duel[:paced][side][index][:p99_us])} µs"]
    end

    def commands
      lines = @records.flat_map { |name, record| commands_of(name, record) }
      ["## Commands\n", "```\n#{lines.uniq.join("\n")}\n```\n"].join("\n")
    end

    # Those of the servers and of the generators, where they were recorded; else what repeats the contests.
    def commands_of(name, record)
      list, key = CONTESTS[name]
      return words(record[:command] || record[:commands]) unless list
      return words(record[list].map { |duel| duel[:commands] }) if list == :duels

      [["bench/#{name}", *record[list].map { |result| result[key] }.uniq].compact.join(" ")]
    end

    # @param commands [String, Array, Hash] at any depth
    # @return [Array<String>]
    def words(commands)
      return [commands] if commands.is_a?(String)

      (commands.is_a?(Hash) ? commands.values : commands).flat_map { |one| words(one) }
    end
  end
end

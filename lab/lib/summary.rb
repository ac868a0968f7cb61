# frozen_string_literal: true

require_relative "../../bench/lib/statistics"

module Lab
  # What a record comes to: a row per contender and workload, with medians over the rounds, ranges, ratios, errors and marks. It only adds
  # up; nothing is left out.
  class Summary
    YARDSTICK = "bare_hyper"
    SUBJECT = "elah"
    # Share of the ceiling from which on the generator may have been the limit.
    CEILING_SHARE = 0.7

    # @return [Hash{Symbol=>Object}]
    attr_reader :about

    # @param record [Record]
    def initialize(record)
      @about = record.about
      @runs = record.runs
    end

    # @return [Array<Hash{Symbol=>Object}>] name, title, rows of each workload that was run, the fastest row first
    def workloads
      @workloads ||= about[:workloads].map do |name, facts|
        runs = @runs.select { |run| run[:workload] == name.to_s }
        { name: name.to_s, **facts, ceiling: ceiling(name.to_s), rows: rows(runs, facts, ceiling(name.to_s)) } if runs.any?
      end.compact
    end

    # What the generator can do at most on this machine: the most that it managed against the yardstick beside a workload, or against anybody where
    # that was not measured.
    # @param name [String, nil] of a workload; nil for the most beside any
    # @return [Float, nil] requests per second
    def ceiling(name = nil) = rates(@runs.select { |run| run[:ceiling] && (name.nil? || run[:workload] == name) }).max || rates(@runs).max

    # Where a contender is better than Elah, worst first.
    # @return [Array<Hash{Symbol=>Object}>] workload, title, what, subject, other, factor
    def losses
      workloads.flat_map do |workload|
        subject = workload[:rows].find { |row| row[:contender] == SUBJECT } or next []
        workload[:rows].reject { |row| row[:contender].start_with?(SUBJECT) }.flat_map { |row| losses_to(workload, subject, row) }
      end.sort_by { |loss| -loss[:factor] }
    end

    # @return [Array<Hash>] long runs
    def soaks = @runs.select { |run| run[:soak] }

    # @return [Hash{Symbol=>Object}] all of it, for report.json
    def to_h = { about: about, ceiling: ceiling, workloads: workloads, losses: losses, soaks: soaks }

    private

    MEASURES = { rate: ["requests/s", 1], cpu_us: ["CPU time per request", -1], p99_us: ["p99 at the same rate", -1],
                 memory_bytes: ["memory", -1] }.freeze
    private_constant :MEASURES

    def losses_to(workload, subject, row)
      MEASURES.filter_map do |key, (what, sign)|
        ours, theirs = [subject, row].map { |one| one.dig(key, :median) }
        next unless ours&.positive? && theirs&.positive?

        factor = sign.positive? ? theirs / ours : ours / theirs
        { workload: workload[:name], title: row[:title], what: what, measure: key, subject: ours, other: theirs, factor: factor } if factor > 1
      end
    end

    def rates(runs) = runs.flat_map { |run| (run[:saturated] || []).map { |one| one[:rate] } }

    def rows(runs, facts, ceiling)
      all = runs.reject { |run| run[:soak] || run[:ceiling] }.group_by { |run| run[:contender] }.map { |name, own| row(name, own, facts) }
      yardstick, subject = [YARDSTICK, SUBJECT].map { |name| all.find { |row| row[:contender] == name }&.dig(:rate, :median) }
      all.each { |row| add_ratios(row, yardstick, subject, ceiling) }
      all.sort_by { |row| -(row.dig(:rate, :median) || 0) }
    end

    def row(name, runs, facts)
      headline = runs.flat_map { |run| run[:saturated].select { |one| one[:connections] == facts[:headline] } }
      same = runs.flat_map { |run| run[:paced].select { |one| one[:at] == "same" } }
      { contender: name, **(about[:contenders][name.to_sym] || { title: name }), runs: runs.size,
        rate: spread(headline, :rate), cpu_us: spread(headline, :cpu_us), p50_us: latency(same, :p50), p99_us: latency(same, :p99),
        p999_us: latency(same, :"p99.9"), memory_bytes: memory(runs), private_bytes: private_memory(runs), rates: headline.map { |one| one[:rate] },
        levels: levels(runs), loads: loads(runs), spectrum: same.last&.fetch(:spectrum, nil), errors: errors(runs), contract: runs.first[:contract],
        failure: runs.filter_map { |run| run[:failure] }.first, marks: marks(headline) }
    end

    def spread(runs, key)
      values = runs.filter_map { |run| run[key] }
      Bench::Statistics.spread(values) if values.any?
    end

    # A run in which nothing was answered has no latency.
    def latency(runs, key) = spread(runs.select { |run| run[:answered_rate].positive? }.map { |run| { key => run.dig(:latency_us, key) } }, key)
    def memory(runs) = spread(runs.filter_map { |run| run[:memory] }, :proportional_bytes)

    # Without pages of files, which the kernel may drop at any time: a mapped store is no memory of its server's own. The first records lack that,
    # and have what no other process shares.
    def private_memory(runs)
      key = runs.any? { |run| run.dig(:memory, :anonymous_bytes) } ? :anonymous_bytes : :private_bytes
      spread(runs.filter_map { |run| run[:memory] }, key)
    end

    # Saturation at each number of connections.
    def levels(runs)
      runs.flat_map { |run| run[:saturated] }.group_by { |one| one[:connections] }
          .map { |connections, all| { connections: connections, rate: spread(all, :rate), p99_us: spread(all, :p99_us) } }
    end

    # Latency at each share of what the contender managed.
    def loads(runs)
      runs.flat_map { |run| run[:paced] }.group_by { |one| one[:at] }.map do |name, all|
        { at: name, rate: spread(all, :rate), **%i[p50 p99 p99.9].to_h { |key| [key, latency(all, key)] } }
      end
    end

    def errors(runs)
      runs.flat_map { |run| run[:saturated] + run[:paced] }.map { |one| one[:errors] }.reduce({}) { |sums, one| sums.merge(one) { |_, a, b| a + b } }
    end

    def marks(headline) = headline.any? { |one| one[:generator_limited] } ? ["generator"] : []

    def add_ratios(row, yardstick, subject, ceiling)
      rate = row.dig(:rate, :median) or return
      row[:of_yardstick] = rate / yardstick if yardstick&.positive?
      row[:of_subject] = rate / subject if subject&.positive?
      row[:marks] |= ["ceiling"] if ceiling && row[:contender] != YARDSTICK && rate > ceiling * CEILING_SHARE
    end
  end
end

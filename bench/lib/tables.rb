# frozen_string_literal: true

require_relative "figures"
require_relative "instructions"
require_relative "statistics"
require_relative "workloads"

module Bench
  # Turns results into Markdown tables. Takes what the commands have in hand as well as what was read back from a record.
  module Tables
    module_function

    # @param duels [Array<Hash>] results of Duel#run
    # @return [String] one row per workload
    def ratios(duels)
      head = ["Workload", "Elah, requests/s", "bare hyper", "ratio", "Elah, µs CPU per request", "bare hyper", "ratio",
              "target", "p99 at half load, Elah ÷ bare hyper", "target"]
      table(head, duels.map { |duel| ratios_row(duel) })
    end

    # @param result [Hash] what bench/sleeping records
    # @return [String] one row per server
    def sleeping(result)
      head = ["#{result[:connections]} connections, 50 ms asleep", "requests/s", "µs CPU per request", "Elah's ÷ this", "target"]
      table(head, [["Elah", *medians(result, :elah), "", "≤ #{SLEEPING_CPU_MAX_US} µs"],
                   ["bare hyper", *medians(result, :bare), spread(result[:cpu_ratio]), ""]])
    end

    # @param result [Hash] what bench/link_creation records
    # @return [String] one row per server
    def link_creation(result)
      rate, cpu = result[:ratios].values_at(:rate, :cpu).map { |ratio| spread(ratio) }
      table(["Creation of a link, synced", "links/s", "µs CPU per link", "Elah's ÷ this, links/s", "CPU of this ÷ Elah's", "target"],
            [["Elah, apps/links", *medians(result, :elah), "", "", ""],
             ["Fastify and LMDB", *medians(result, :fastify), rate, cpu, "≥ #{LINK_CREATION_FACTOR_MIN}"]])
    end

    # @param result [Hash] what bench/connections records
    # @return [String]
    def connections(result)
      load = result[:elah_load].transform_keys(&:to_sym)
      table(["Sleeping requests at once", "answered", "failed", "all answered after", "peak memory", "target"],
            [[thousands(result[:connections]), thousands(load[:answered]), thousands(load[:failed]),
              "#{Figures.rounded(load[:measured_seconds])} s", megabytes(result[:peak_bytes]),
              "0 failed, < #{megabytes(CONNECTIONS_BYTES_MAX)}"]])
    end

    # @param result [Hash] what bench/broadcast records
    # @return [String]
    def broadcast(result)
      table(["Listeners of one worker", "seconds", "events that each got", "core", "private memory", "peak, with pages of files", "target"],
            [[thousands(result[:listeners]), result[:seconds].to_s, result[:ticks].values_at(:least, :most).uniq.join("–"),
              format("%.0f %%", result[:server_share] * 100), megabytes(result[:after][:private_bytes]), megabytes(result[:peak_bytes]),
              "< #{megabytes(CONNECTIONS_BYTES_MAX)}"]])
    end

    # @param result [Hash] what bench/instructions records
    # @return [String] one row per path
    def instructions(result)
      counts = result[:counts].transform_values { |by_name| by_name.transform_keys(&:to_s) }
      rows = Instructions::WORKLOADS.select { |workload| counts[:now].key?(workload.name) }.map do |workload|
        before, now = counts.values_at(:before, :now).map { |by_name| by_name && by_name[workload.name] }
        [workload.title, before ? thousands(before) : "", thousands(now), before ? format("%.3f", now / before) : ""]
      end
      table(["Instructions per request", "before", "now", "ratio"], rows)
    end

    # @param result [Hash] what bench/memory records
    # @return [String] one row per goal
    def memory(result)
      rows = result[:readings].select { |reading| reading[:is_goal] }.map do |reading|
        [thousands(reading[:requests]), megabytes(reading[:private_bytes]), megabytes(reading[:store_bytes]),
         "≤ #{megabytes(MEMORY_BYTES_MAX)}, no growth"]
      end
      table(["Requests served by the shortener", "private memory", "mapped store", "target"], rows)
    end

    # @param result [Hash] what bench/redis records
    # @return [String] one row per server
    def redis(result)
      names = { elah: "Elah, apps/links on Redis", bare: "bare hyper, in memory", sinatra: "Sinatra + Puma + redis gem, the same Redis" }
      rows = names.map do |side, name|
        median = ->(key) { Statistics.median(result[:runs][side].map { |run| run[key] }) }
        ratio = result[:ratios][side]
        [name, rounded(median[:rate]), rounded(median[:cpu_us]), *(ratio ? [spread(ratio[:rate]), spread(ratio[:cpu])] : ["", ""]),
         REDIS_TARGETS.fetch(side, "")]
      end
      table(["Server", "requests/s", "µs CPU per request", "Elah's ÷ this, requests/s", "Elah's ÷ this, CPU", "target"], rows)
    end

    # @param results [Array<Hash>] what RingPools#run gave
    # @return [String] one row per figure
    def ring_pools(results) = figures("apps/ring_pools", results)

    # @param results [Array<Hash>] what bench/cluster gave
    # @return [String] one row per work
    def cluster(results)
      rows = results.map { |result| [result[:what], *result[:us].map { |us| "#{rounded(us)} µs" }, rounded(result[:figure]), result[:target]] }
      table(["Entities on a cluster", "a work", "the other", "ratio of the times", "target"], rows)
    end

    # @param results [Array<Hash>] what bench/machines gave
    # @return [String] one row per figure
    def machines(results) = figures("Several machines", results)

    # @param results [Array<Hash>] what bench/machine_calls gave
    # @return [String] one row per way
    def machine_calls(results)
      rows = results.map { |result| [result[:what], "#{rounded(result[:us])} µs", rounded(result[:figure]), result[:target].to_s] }
      table(["A call, one at a time", "p50", "÷ rustls alone", "target"], rows)
    end

    # @param results [Array<Hash>] what Leaderboards#run gave
    # @return [String] one row per figure
    def leaderboards(results)
      rows = results.map { |result| [result[:what], Figures.rounded_text(result[:figure].to_s), result[:target].to_s] }
      table(["apps/leaderboards", "", "target"], rows)
    end

    # @param result [Hash] what bench/ranked_set records
    # @return [String] one row per figure
    def ranked_set(result)
      rows = RANKED_SET_FIGURES.filter_map do |name, (what, target)|
        figure = result[:figures][name] or next
        [what, figure.is_a?(Array) ? spread(Statistics.spread(figure)) : rounded(figure), target.to_s]
      end
      table(["Elah::RankedSet, 1,000,000 members", "", "target"], rows)
    end

    # @param duels [Array<Hash>] what Items#duel gave
    # @return [String] one row per contest
    def items(duels)
      rows = duels.map do |duel|
        medians = %i[elah bare].map { |side| rounded(Statistics.median(duel[:saturated][side].map { |run| run[:rate] })) }
        target = duel[:target] ? format("≥ %.2f", duel[:target]) : ""
        [duel[:title], *medians, *%i[rate cpu].map { |key| spread(duel[:ratios][key]) }, target]
      end
      table(["GET /items/random", "requests/s", "of the other", "ratio", "CPU ratio", "target"], rows)
    end

    # @param duels [Array<Hash>] what Stats#duel gave
    # @return [String] one row per contest
    def stats(duels)
      rows = duels.map do |duel|
        medians = %i[elah other].map { |side| Statistics.median(duel[:runs][side].map { |run| run[:rate] }) }
        events = duel[:events] > 1 ? rounded(medians.first * duel[:events]) : ""
        [duel[:title], *medians.map { |rate| rounded(rate) }, events, spread(duel[:ratios][:rate]), stats_target(duel), spread(duel[:ratios][:p95])]
      end
      table(["apps/stats, 250 connections", "requests/s", "of the other", "events/s", "ratio", "target",
             format("p95, Elah ÷ the other; ≤ %.1f of bare hyper", P95_FACTOR_MAX)], rows)
    end

    # @param result [Hash] what bench/long_run records
    # @return [String] one row per million requests
    def long_run(result)
      target = "≤ #{megabytes(MEMORY_BYTES_MAX)}, the last within 2 % of the first"
      rows = result[:readings].map do |reading|
        [thousands(reading[:requests]), rounded(reading[:rate]), "#{rounded(reading[:p99_us] / 1000.0)} ms", megabytes(reading[:private_bytes]),
         megabytes(reading[:store_bytes]), target]
      end
      table(["apps/stats, requests served", "requests/s", "p99", "private memory", "mapped store and journal", "target of private memory"], rows)
    end

    # @param contests [Array<Hash>] what bench/yjit records
    # @return [String] one row per contest
    def yjit(contests)
      rows = contests.map do |contest|
        medians = %i[with without].map { |side| rounded(Statistics.median(contest[:runs][side].map { |run| run[:rate] })) }
        ratios = %i[rate cpu].map { |key| spread(contest[:ratios][key]) }
        [contest[:title], *medians, *ratios, *contest[:private_bytes].values_at(:with, :without).map { |bytes| megabytes(bytes) }]
      end
      table(["A worker with YJIT and one without", "requests/s with", "without", "ratio", "CPU ratio", "private memory with", "without"], rows)
    end

    # @param contests [Array<Hash>] what bench/rubies records
    # @return [String] one row per contest and Ruby
    def rubies(contests)
      rows = contests.flat_map do |contest|
        contest[:runs].map do |ruby, runs|
          ruby = ruby.to_s
          [contest[:title], ruby, *%i[rate cpu_us].map { |key| rounded(median_of(runs, key)) }, spread(contest[:ratios].transform_keys(&:to_s)[ruby]),
           (contest[:targets].include?(ruby) ? "≤ #{RUBY_FACTOR_MAX}" : "")]
        end
      end
      table(["One worker", "Ruby", "requests/s", "µs CPU per request", "÷ the first Ruby's", "target"], rows)
    end

    # @param contests [Array<Hash>] what bench/rails records
    # @return [String] one row per query and server
    def rails(contests)
      rows = contests.flat_map do |contest|
        contest[:runs].map do |server, runs|
          rates = %i[steady_rate rate cpu_us].map { |key| rounded(median_of(runs, key)) }
          ["#{contest[:milliseconds]} ms", server, "< #{contest[:bound_ms]} ms", *rates, megabytes(runs.map { |run| run[:private_bytes] }.max)]
        end
      end
      table(["Query", "server", "p99", "requests/s within it", "requests/s of 200 connections", "µs CPU per request", "private memory"], rows)
    end

    # @param result [Hash] what bench/links records
    # @return [String] one row per kind of request
    def peer_requests(result)
      rows = result[:pairs].map do |pair|
        [pair[:title], *pair.values_at(:local_us, :remote_us).map { |us| rounded(us) }, spread(pair[:ratio]), "≤ 3"]
      end
      table(["A request with", "µs CPU, in this worker", "in another, both workers' together", "ratio", "target"], rows)
    end

    # @param result [Hash] what bench/links records
    # @return [String]
    def peer_calls(result)
      figures = %i[p50_us p99_us cpu_us_alone cpu_us_together].map { |name| Statistics.median(result[:calls].map { |calls| calls[name] }) }
      table(["A call without HTTP", "p50, one at a time", "p99", "µs CPU of the caller, one at a time", "of 64 at once", "target"],
            [["", *figures.first(2).map { |us| "#{rounded(us)} µs" }, *figures.last(2).map { |us| rounded(us) }, "p50 < 100 µs"]])
    end

    # All columns but the first are aligned right.
    def table(head, rows)
      lines = [head, ["---", *Array.new(head.size - 1, "---:")], *rows]
      lines.map { |cells| "| #{cells.join(" | ")} |\n" }.join
    end

    def figures(title, results)
      rows = results.map do |result|
        what, figure, unit, target = result.values_at(:what, :figure, :unit, :target)
        [what, "#{rounded(figure)} #{unit}".strip, target.to_s]
      end
      table([title, "", "target"], rows)
    end
    private_class_method :figures

    def stats_target(duel)
      return "≥ #{thousands(duel[:events_target])} events/s" if duel[:events_target]

      duel[:target] ? format("≥ %.2f", duel[:target]) : ""
    end
    private_class_method :stats_target

    def median_of(runs, key) = Statistics.median(runs.map { |run| run[key] })
    private_class_method :median_of

    def medians(result, side) = %i[rate cpu_us].map { |key| rounded(Statistics.median(result[:runs][side].map { |run| run[key] })) }
    private_class_method :medians

    def ratios_row(duel)
      saturated = duel[:saturated]
      median = ->(side, key) { Statistics.median(saturated[side].map { |run| run[key] }) }
      [duel[:title], rounded(median[:elah, :rate]), rounded(median[:bare, :rate]), spread(duel[:ratios][:rate]),
       rounded(median[:elah, :cpu_us]), rounded(median[:bare, :cpu_us]), spread(duel[:ratios][:cpu]),
       format("≥ %.2f", duel[:target]), spread(duel[:ratios][:p99]), format("≤ %.1f", P99_FACTOR_MAX)]
    end
    private_class_method :ratios_row

    def spread(spread) = Figures.spread(spread)
    def rounded(number) = Figures.rounded(number)
    def thousands(number) = Figures.whole(number)
    def megabytes(bytes) = Figures.megabytes(bytes)
  end
end

# frozen_string_literal: true

require_relative "figures"
require_relative "statistics"
require_relative "workloads"

module Bench
  # The targets that a record misses, judged by the figures as they were measured, not as tables round them.
  module Targets
    # A bound at the beginning of a target's text: "≥ 1,500,000", "< 25", "≥ 90 %".
    BOUND = /\A(?<sign>[≥≤<]) (?<bound>[\d,.]+)/
    SIGNS = { "≥" => :>=, "≤" => :<=, "<" => :< }.freeze
    private_constant :BOUND, :SIGNS

    module_function

    # @param name [String] of a command
    # @param record [Hash{Symbol=>Object}] what it recorded
    # @return [Array<Array<String>>] what was measured, the figure and the target, of each target that was missed; none for a command
    #   without targets
    def missed(name, record)
      (CHECKS.key?(name) ? CHECKS[name].call(record) : []).select { |_, figure, target| missed?(figure, target) }
                                                          .map { |what, figure, target| [what, shown(figure), target] }
    end

    # @return [Array<String>] the commands whose records are judged
    def commands = CHECKS.keys

    # @param figure [Numeric, String] measured, or a text that begins with it
    # @param target [String, nil] a text; one without a bound is none
    # @return [Boolean]
    def missed?(figure, target)
      return !figure.to_s.include?(target) if target == "0 failed"

      bound = BOUND.match(target.to_s) or return false
      number = figure.is_a?(Numeric) ? figure : figure.delete(",").to_f
      !number.public_send(SIGNS.fetch(bound[:sign]), bound[:bound].delete(",").to_f)
    end

    def shown(figure) = figure.is_a?(Numeric) ? Figures.rounded(figure) : Figures.rounded_text(figure)
    private_class_method :shown

    def at_least(number) = ("≥ #{number < 1000 ? format('%.2f', number) : Figures.whole(number)}" if number)
    private_class_method :at_least

    def at_most(number) = format("≤ %.2f", number)
    private_class_method :at_most

    def ratios(record)
      record[:duels].flat_map do |duel|
        rate, cpu, p99 = %i[rate cpu p99].map { |key| duel[:ratios][key][:median] }
        cpu_max = WORKLOADS.find { |workload| workload.name == duel[:workload] }&.cpu_max
        [["#{duel[:title]}: requests/s, ÷ bare hyper", rate, at_least(duel[:target])],
         ["#{duel[:title]}: CPU, ÷ bare hyper", 1 / cpu, cpu_max ? "≤ #{cpu_max}" : at_most(1 / duel[:target])],
         ["#{duel[:title]}: p99 at half load, ÷ bare hyper", p99, "≤ #{P99_FACTOR_MAX}"]]
      end
    end

    def sleeping(record)
      cpu = Statistics.median(record[:runs][:elah].map { |run| run[:cpu_us] })
      [["A handler that sleeps 50 ms, #{record[:connections]} connections: µs CPU", cpu, "≤ #{SLEEPING_CPU_MAX_US}"]]
    end

    def link_creation(record)
      [["Creation of a link, synced ÷ Fastify and LMDB, synced: links/s", record[:ratios][:rate][:median], "≥ #{LINK_CREATION_FACTOR_MIN}"]]
    end

    def instructions(record)
      text, untyped = record[:counts][:now].values_at(:text, :untyped)
      text && untyped ? [["Route without `format` ÷ with `format :txt`: instructions", untyped / text, "≤ #{UNTYPED_FACTOR_MAX}"]] : []
    end

    def stats(record)
      record[:duels].flat_map do |duel|
        rate, p95 = %i[rate p95].map { |key| duel[:ratios][key][:median] }
        events = Statistics.median(duel[:runs][:elah].map { |run| run[:rate] }) * duel[:events]
        [["apps/stats, #{duel[:title]}: requests/s", rate, at_least(duel[:target])],
         ["apps/stats, #{duel[:title]}: events/s", events, at_least(duel[:events_target])],
         ["apps/stats, #{duel[:title]}: p95", p95, ("≤ #{P95_FACTOR_MAX}" if duel[:title].end_with?("÷ bare hyper"))]]
      end
    end

    def rubies(record)
      record[:contests].flat_map do |contest|
        contest[:targets].map do |ruby|
          ["#{contest[:title]}: CPU on Ruby #{ruby} ÷ #{contest[:runs].keys.first}", contest[:ratios][ruby.to_sym][:median], "≤ #{RUBY_FACTOR_MAX}"]
        end
      end
    end

    def items(record)
      record[:duels].map { |duel| ["apps/items, #{duel[:title]}: requests/s", duel[:ratios][:rate][:median], at_least(duel[:target])] }
    end

    def redis(record)
      REDIS_TARGETS.map { |side, target| ["apps/links on Redis ÷ #{side}: requests/s", record[:ratios][side][:rate][:median], target] }
    end

    def results(record) = record[:results].map { |result| result.values_at(:what, :figure, :target) }

    def machine_calls(record)
      record[:results].map { |result| ["A call, #{result[:what]} ÷ rustls alone: p50", result[:figure], result[:target]] }
    end

    def ranked_set(record)
      RANKED_SET_FIGURES.filter_map do |name, (what, target)|
        figure = record[:figures][name] or next
        ["Elah::RankedSet: #{what}", figure.is_a?(Array) ? Statistics.median(figure) : figure, target]
      end
    end

    def connections(record)
      [["10,000 sleeping requests: failed", record[:elah_load][:failed], "≤ 0"],
       ["10,000 sleeping requests: peak memory, MB", record[:peak_bytes] / 1e6, "< #{CONNECTIONS_BYTES_MAX / 1e6}"]]
    end

    def broadcast(record)
      [["10,000 listeners: peak memory, MB", record[:peak_bytes] / 1e6, "< #{CONNECTIONS_BYTES_MAX / 1e6}"]]
    end

    def memory(record)
      record[:readings].select { |reading| reading.fetch(:is_goal, true) }.map do |reading|
        ["#{Figures.whole(reading[:requests])} requests: private memory, MB", reading[:private_bytes] / 1e6, "≤ #{MEMORY_BYTES_MAX / 1e6}"]
      end
    end

    CHECKS = { "ratios" => method(:ratios), "stats" => method(:stats), "items" => method(:items), "redis" => method(:redis),
               "ring_pools" => method(:results), "leaderboards" => method(:results), "cluster" => method(:results), "machines" => method(:results),
               "machine_calls" => method(:machine_calls), "ranked_set" => method(:ranked_set),
               "sleeping" => method(:sleeping), "link_creation" => method(:link_creation), "instructions" => method(:instructions),
               "connections" => method(:connections), "broadcast" => method(:broadcast), "memory" => method(:memory),
               "long_run" => method(:memory), "rubies" => method(:rubies) }.freeze
    private_class_method(*CHECKS.values.map(&:name).uniq)
    private_constant :CHECKS
  end
end

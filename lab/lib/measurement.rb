# frozen_string_literal: true

require "time"
require_relative "../../bench/lib/cpu_use"

module Lab
  # One run of one contender in one workload: a fresh process, the contract, warm-up, saturation, fixed rates, memory. What went wrong is a
  # result like any other: a run always gives a Hash, with what was measured until then.
  class Measurement
    # Above this share of its core the generator was the limit, unless the server was at its own.
    CORE_SHARE_MAX = 0.9
    # Why a contender's other runs of this workload are not worth their time.
    HOPELESS = %w[contract start].freeze

    # @param contender [Contender]
    # @param workload [Workload]
    # @param plan [Plan]
    # @param cores [Cores]
    # @param store [String, nil] URL of the database server
    # @param generators [Generators]
    def initialize(contender, workload, plan:, cores:, generators:, store: nil)
      @contender = contender
      @workload = workload
      @plan = plan
      @server = ServerProcess.new(contender, workload, cores: cores, store: store)
      @generators = generators
    end

    # @param round [Integer] from 1 on; the whole contract is played in the first
    # @return [Hash{Symbol=>Object}]
    def run(round)
      @result = { workload: @workload.name, contender: @contender.name, round: round, at: Time.now.utc.iso8601, saturated: [], paced: [] }
      attempt("start") { @server.run { |server| measure(server, round) } }
      @result
    end

    private

    def measure(server, round)
      @result.merge!(command: server.command.join(" "), start_seconds: server.start_seconds)
      attempt("contract") { check(server, round) } or return
      attempt("load") do
        @workload.data&.load(server)
        warm_up(server)
        @result[:memory_before] = server.tree.memory
        @workload.connections.each { |connections| saturate(server, connections) }
        rates.each { |name, rate| pace(server, name, rate) }
        @result[:memory] = server.tree.memory
      end
    end

    # @return [Boolean] whether the step went well; else the result says what failed
    def attempt(step)
      yield
      true
    rescue Error, SystemCallError, Timeout::Error, EOFError => e
      @result[:failure] ||= { step: step, message: e.message }
      false
    end

    def check(server, round)
      contract = ContractCheck.new(@workload).play(server.url, whole: round == 1)
      @result[:contract] = contract.to_h
      server.require_running
      return if contract.ok?

      raise Error, contract.failures.map { |name, failure| "“#{name}”: #{failure}" }.first
    end

    def warm_up(server)
      return unless @plan.warmup.positive?

      @generators.saturate(url(server), connections: @workload.connections.first, seconds: @plan.warmup, paths_file: paths_file)
      server.require_running
    end

    def saturate(server, connections)
      load = { connections: connections, seconds: @plan.saturation_seconds(connections), paths_file: paths_file }
      report = nil
      use = Bench::CpuUse.of(server.tree) { report = @generators.saturate(url(server), **load) }
      answered = report["requests"] - report["errors"]["status"]
      @result[:saturated] << {
        connections: connections, rate: answered / report["seconds"], cpu_us: (use.server_seconds * 1e6 / answered if answered.positive?),
        p50_us: report["p50_us"], p99_us: report["p99_us"], errors: report["errors"].reject { |_, count| count.zero? },
        server_share: use.server_share, generator_share: use.generator_share, foreign_share: use.foreign_share,
        generator_limited: use.generator_share > CORE_SHARE_MAX && use.server_share < CORE_SHARE_MAX,
        command: @generators.saturate_command(url(server), **load).join(" ")
      }
      server.require_running
    end

    # The rate that is the same for all, and shares of what this run managed.
    def rates
      peak = @result[:saturated].map { |run| run[:rate] }.max
      { "same" => @workload.rate }.merge(@plan.shares.to_h { |share| [format("%<percent>d %%", percent: share * 100), peak * share] })
                                  .select { |_, rate| rate >= 1 }
    end

    def pace(server, name, rate)
      seconds = name == "same" ? @plan.same_pace_seconds : @plan.pace_seconds
      load = { rate: rate, connections: @workload.pace_connections, seconds: seconds, status: @workload.status, paths_file: paths_file }
      report = @generators.pace(url(server), **load)
      @result[:paced] << {
        at: name, rate: rate, answered_rate: report["requests_per_second"], latency_us: report["latency_us"], spectrum: report["spectrum"],
        errors: report["failures"].reject { |_, count| count.zero? }, generator_limited: report.dig("generator", "is_limit"),
        command: @generators.pace_command(url(server), **load).join(" ")
      }
      server.require_running
    end

    def url(server) = server.url(@workload.path || "/")
    def paths_file = @workload.data&.paths_file
  end
end

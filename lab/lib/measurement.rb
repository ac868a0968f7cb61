# frozen_string_literal: true

require_relative "../../bench/lib/cpu_use"
require_relative "run"

module Lab
  # The run that gives the figures of the tables: the contract, warm-up, saturation, fixed rates, memory.
  class Measurement < Run
    # Above this share of its core the generator, with the database where there is one, was the limit, unless the server was at its own.
    CORE_SHARE_MAX = 0.9
    # Why a contender's other runs of this workload are not worth their time.
    HOPELESS = %w[contract start store].freeze

    # @param run [Hash{Symbol=>Object}] of a record
    # @return [Boolean] whether its contender need not be measured again
    def self.hopeless?(run) = HOPELESS.include?(run.dig(:failure, :step))

    # @param run [Hash{Symbol=>Object}] of a record
    # @return [Float, nil] requests per second at its best number of connections; nil when nothing was measured
    def self.peak_rate(run) = run[:saturated].map { |one| one[:rate] }.max

    # @param plan [Plan]
    # @param tools [Hash] as for Run
    def initialize(contender, workload, plan:, **tools)
      super(contender, workload, **tools)
      @plan = plan
    end

    # @param round [Integer] from 1 on; the whole contract is played in the first
    # @return [Hash{Symbol=>Object}]
    def run(round)
      @result = { **heading, round: round, saturated: [], paced: [] }
      if loaded?
        # The contract makes items and deletes some; the store that all runs share stays as it is.
        serve(loaded: false) { |server| check(server, round) } && serve { |server| measure(server) }
      else
        serve { |server| check(server, round) && measure(server) }
      end
      @result
    end

    private

    # @return [Boolean] whether what is measured is what the contract asks
    def check(server, round)
      return true if @contender.mocks?(@workload)

      attempt("contract") { play(server, round) }
    end

    def measure(server)
      @result.merge!(command: server.command.join(" "), start_seconds: server.start_seconds)
      attempt("load") do
        fill(server)
        warm_up(server)
        @result[:memory_before] = server.tree.memory
        @workload.connections.each { |connections| saturate(server, connections) }
        rates.each { |name, rate| pace(server, name, rate) }
        @result[:memory] = server.tree.memory
      end
    end

    def play(server, round)
      contract = ContractCheck.new(@workload).play(server.url, whole: round == 1)
      @result[:contract] = contract.to_h
      server.require_running
      return if contract.ok?

      raise Error, contract.failures.map { |name, failure| "“#{name}”: #{failure}" }.first
    end

    def warm_up(server)
      return unless @plan.warmup.positive?

      @generators.saturate(url, connections: @workload.connections.first, seconds: @plan.warmup, paths_file: paths_file)
      server.require_running
    end

    def saturate(server, connections)
      load = { connections: connections, seconds: @plan.saturation_seconds(connections), paths_file: paths_file }
      report = nil
      use = Bench::CpuUse.of(server.tree) { report = @generators.saturate(url, **load) }
      answered = report["requests"] - report["errors"]["status"]
      @result[:saturated] << {
        connections: connections, rate: answered / report["seconds"], cpu_us: (use.server_seconds * 1e6 / answered if answered.positive?),
        p50_us: report["p50_us"], p99_us: report["p99_us"], errors: report["errors"].reject { |_, count| count.zero? },
        server_share: use.server_share, generator_share: use.generator_share, foreign_share: use.foreign_share,
        generator_limited: beside(use) > CORE_SHARE_MAX && use.server_share < CORE_SHARE_MAX,
        command: @generators.saturate_command(url, **load).join(" ")
      }
      server.require_running
    end

    # @return [Float] share of the generator's core that was busy; what is foreign elsewhere is the database here
    def beside(use) = use.generator_share + (@workload.store ? use.foreign_share : 0)

    # The rate that is the same for all, and shares of what this run managed.
    def rates
      peak = self.class.peak_rate(@result)
      { "same" => @workload.rate }.merge(@plan.shares.to_h { |share| [format("%<percent>d %%", percent: share * 100), peak * share] })
                                  .select { |_, rate| rate >= 1 }
    end

    def pace(server, name, rate)
      seconds = name == "same" ? @plan.same_pace_seconds : @plan.pace_seconds
      load = { rate: rate, connections: @workload.pace_connections, seconds: seconds, status: @workload.status, paths_file: paths_file }
      report = @generators.pace(url, **load)
      @result[:paced] << {
        at: name, rate: rate, answered_rate: report["requests_per_second"], latency_us: report["latency_us"], spectrum: report["spectrum"],
        errors: report["failures"].reject { |_, count| count.zero? }, generator_limited: report.dig("generator", "is_limit"),
        command: @generators.pace_command(url, **load).join(" ")
      }
      server.require_running
    end
  end
end

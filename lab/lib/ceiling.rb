# frozen_string_literal: true

require_relative "../../bench/lib/awake"
require_relative "run"

module Lab
  # What the generator can do at most: wrk against the shortest answer of the yardstick, before and after every workload, with as many connections. A
  # figure near it may be the generator's.
  class Ceiling < Run
    # @param connections [Integer]
    # @param seconds [Numeric]
    # @param tools [Hash] as for Run
    def initialize(contender, workload, connections:, seconds:, **tools)
      super(contender, workload, **tools)
      @connections = connections
      @seconds = seconds
    end

    # @param name [String] of the workload beside which it is measured
    # @return [Hash{Symbol=>Object}]
    def run(name)
      @result = { **heading, workload: name, ceiling: true, saturated: [] }
      serve(loaded: false) { |server| attempt("load") { saturate(server) } }
      @result
    end

    private

    def saturate(server)
      report = Bench::Awake.keep { @generators.saturate(url, connections: @connections, seconds: @seconds) }
      @result[:saturated] << { connections: @connections, rate: report["requests"] / report["seconds"] }
      server.require_running
    end
  end
end

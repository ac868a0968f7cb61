# frozen_string_literal: true

module Lab
  # Connections that wrk opens in a second at the least, about.
  CONNECTIONS_PER_SECOND = 2_500

  # How long and how often: the three kinds of a run of the lab.
  #
  # rounds:: runs of each contender in each workload
  # seconds:: of a saturated run, at each number of connections
  # warmup:: seconds of load before the first
  # pace_seconds:: of each run at a fixed rate
  # shares:: rates as shares of what the contender managed, besides the rate that is the same for all
  # soak_seconds:: of one long run at a fixed rate, at the end; 0 for none
  Plan = Struct.new(:name, :rounds, :seconds, :warmup, :pace_seconds, :shares, :soak_seconds, keyword_init: true) do
    # @return [Float] seconds that a contender's run of a workload takes, without its start
    def run_seconds(workload)
      warmup + workload.connections.sum { |connections| saturation_seconds(connections) } + same_pace_seconds + pace_seconds * shares.size
    end

    # wrk's time runs while it still opens connections, and thousands take a while.
    # @return [Integer] seconds of a saturated run
    def saturation_seconds(connections) = seconds + connections / CONNECTIONS_PER_SECOND

    # @return [Numeric] seconds at the rate that is the same for all, whose tail the tables show
    def same_pace_seconds = pace_seconds * 2
  end

  PLANS = {
    # Four minutes for nineteen contenders and two workloads.
    short: Plan.new(name: "short", rounds: 2, seconds: 1, warmup: 1, pace_seconds: 0.3, shares: [0.5], soak_seconds: 0),
    # Two to three hours for everybody and everything.
    full: Plan.new(name: "full", rounds: 5, seconds: 2, warmup: 1, pace_seconds: 0.5, shares: [0.25, 0.5, 0.75, 0.9], soak_seconds: 0),
    long: Plan.new(name: "long", rounds: 5, seconds: 8, warmup: 2, pace_seconds: 5, shares: [0.25, 0.5, 0.75, 0.9], soak_seconds: 60)
  }.freeze
end

# frozen_string_literal: true

module Lab
  # What a run of the lab that was interrupted has measured of one workload. Whole rounds count: one that was cut off is measured again, since
  # its contenders are compared with each other.
  class EarlierRuns
    # @return [Integer] rounds that every contender had
    attr_reader :whole_rounds

    # @param runs [Array<Hash{Symbol=>Object}>] of a record
    # @param workload [String] name
    # @param contenders [Array<String>] names of those that compete in it
    # @param rounds [Integer] of the plan
    def initialize(runs, workload, contenders, rounds)
      @runs = runs.select { |run| run[:workload] == workload }
      competing = contenders - names_of(@runs.select { |run| Measurement.hopeless?(run) })
      @whole_rounds = (1..rounds).take_while { |round| (competing - names_of(@runs.select { |run| run[:round] == round })).empty? }.size
    end

    # @return [Array<Hash{Symbol=>Object}>] all runs but those of a round that was cut off
    def kept = @runs.reject { |run| run[:round] && run[:round] > whole_rounds }

    # @return [Array<String>] contenders whose other runs are not worth their time
    def hopeless = names_of(kept.select { |run| Measurement.hopeless?(run) })

    # @return [Integer] how often the generator's ceiling was measured
    def ceilings = @runs.count { |run| run[:ceiling] }

    # @return [Array<String>] contenders whose long run has been
    def soaked = names_of(@runs.select { |run| run[:soak] })

    # @return [Hash{String=>Array<Float>}] requests per second at best of each run, by contender
    def rates
      kept.select { |run| run[:round] && run[:saturated].any? }.group_by { |run| run[:contender] }
          .transform_values { |runs| runs.map { |run| Measurement.peak_rate(run) } }
    end

    private

    def names_of(runs) = runs.map { |run| run[:contender] }.uniq
  end
end

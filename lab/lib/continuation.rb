# frozen_string_literal: true

require_relative "earlier_runs"

module Lab
  # Goes on with a record whose run was interrupted. What stands side by side in it must be of one machine and of the same versions.
  class Continuation
    MACHINE = %i[cpu memory system ruby rust wrk].freeze

    # @param record [Record]
    # @param about [Hash{Symbol=>Object}] what a record that begins now would say
    def initialize(record, about)
      @record = record
      @known = record.about
      @about = JSON.parse(JSON.generate(about), symbolize_names: true)
    end

    # Leaves out rounds that were cut off, and notes in the record that it goes on.
    #
    # @param entrants [Hash{Workload=>Array<Contender>}]
    # @param rounds [Integer] of the plan
    # @raise [Lab::Error] when the machine or a version is another
    def begin(entrants, rounds)
      require_same
      all = @record.runs
      @record.runs = entrants.flat_map { |workload, contenders| EarlierRuns.new(all, workload.name, contenders.map(&:name), rounds).kept }
      notice = "It was interrupted, and went on at #{@about[:machine][:date]} with commit #{@about[:machine][:commit]}."
      @record.about = @known.merge(notices: @known[:notices] + [notice])
    end

    private

    def require_same
      require_equal("the machine", *[@known, @about].map { |about| about[:machine].slice(*MACHINE) })
      @known[:contenders].each do |name, facts|
        require_equal(facts[:title], facts[:version], @about.dig(:contenders, name, :version))
      end
    end

    def require_equal(what, before, now)
      raise Error, "#{@record.folder} cannot go on: #{what} was #{before}, and is #{now || 'missing'} now." unless before == now
    end
  end
end

# frozen_string_literal: true

require "time"

module Lab
  # What every run has: one contender in one workload, as a fresh process on an empty store, and the generators that load it. What went wrong is a
  # result like any other: a run always gives a Hash, with what was measured until then.
  class Run
    # @param contender [Contender]
    # @param workload [Workload]
    # @param cores [Cores]
    # @param generators [Generators]
    def initialize(contender, workload, cores:, generators:)
      @contender = contender
      @workload = workload
      @cores = cores
      @generators = generators
    end

    private

    # Starts the contender and, where the workload has one, an empty database server before it.
    # @yieldparam server [ServerProcess] as long as both run
    def serve(&block)
      @workload.data # makes files that a command may name
      attempt("store") do
        Stores.with(@workload.store, @cores) do |store|
          @server = ServerProcess.new(@contender, @workload, cores: @cores, store: store)
          attempt("start") { @server.run(&block) }
        end
      end
    end

    # @return [Hash{Symbol=>Object}] with which a result begins
    def heading = { workload: @workload.name, contender: @contender.name, at: Time.now.utc.iso8601 }

    # @return [Boolean] whether the step went well; else the result says what failed
    def attempt(step)
      yield
      true
    rescue Error, SystemCallError, Timeout::Error, EOFError => e
      @result[:failure] ||= { step: step, message: e.message }
      false
    end

    # Puts the workload's data into the server.
    def fill(server) = @contender.mocks?(@workload) || @workload.data&.load(server)

    def url = @server.url(@workload.path || "/")
    def paths_file = @workload.data&.paths_file
  end
end

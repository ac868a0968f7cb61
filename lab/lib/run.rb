# frozen_string_literal: true

require "time"

module Lab
  # What every run has: one contender in one workload, as a fresh process on an empty store or on one that was filled before, and the generators that
  # load it. What went wrong is a result like any other: a run always gives a Hash, with what was measured until then.
  class Run
    # @param contender [Contender]
    # @param workload [Workload]
    # @param cores [Cores]
    # @param generators [Generators]
    # @param loaded_stores [LoadedStores]
    def initialize(contender, workload, cores:, generators:, loaded_stores:)
      @contender = contender
      @workload = workload
      @cores = cores
      @generators = generators
      @loaded_stores = loaded_stores
    end

    private

    # Starts the contender and, where the workload has one, a database server before it.
    # @param loaded [Boolean] whether its store has the rows of the workload, or nothing
    # @yieldparam server [ServerProcess] as long as both run
    # @return [Boolean] whether nothing failed
    def serve(loaded: loaded?, &block)
      @workload.data # makes files that a command may name
      attempt("store") do
        with_store(loaded) do |places|
          @server = ServerProcess.new(@contender, @workload, cores: @cores, **places)
          attempt("start") { @server.run(&block) }
        end
      end
      !@result[:failure]
    end

    # @return [Boolean] whether this contender answers out of a store that is filled before it starts
    def loaded? = !@workload.rows.nil? && !@contender.mocks?(@workload)

    # @yieldparam places [Hash{Symbol=>String}] of a contender's command
    def with_store(loaded, &block)
      return yield(@loaded_stores.places(@contender, @workload)) if loaded

      Stores.with(@workload.store, @cores) { |url| block.call({ store: url }.compact) }
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

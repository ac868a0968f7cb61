# frozen_string_literal: true

require_relative "ceiling"
require_relative "continuation"
require_relative "loaded_stores"
require_relative "progress"
require_relative "soak"
require_relative "stores"

module Lab
  # One run of the lab from its set-up to the last figure. A contender that fails never ends it; every run is on disk before the next begins.
  class Session
    # @return [Record, nil] once the first run begins
    attr_reader :record

    # How often a workload has the generator's ceiling measured: before its runs, and after.
    CEILINGS = 2

    # Seconds that a contender needs to start, keep its contract and end, about.
    OVERHEAD_SECONDS = 1.5

    # @param contenders [Array<Contender>]
    # @param workloads [Array<Workload>]
    # @param plan [Plan]
    # @param install [Boolean] whether packages may be installed
    # @param command [String] that repeats it
    # @param ceiling [Array(Contender, Workload), nil] against what the generator shows how much it can do
    # @param record [Record, nil] to go on with
    def initialize(contenders:, workloads:, plan:, command:, ceiling: nil, record: nil, install: true, cores: Cores.new, out: $stderr,
                   parent: Record::FOLDER, stores_folder: LoadedStores::FOLDER)
      @contenders = contenders
      @workloads = workloads
      @plan = plan
      @command = command
      @ceiling = ceiling
      @record = record
      @install = install
      @cores = cores
      @out = out
      @parent = parent
      @generators = Generators.new(cores)
      @loaded_stores = LoadedStores.new(cores, folder: stores_folder) { |line| say(line) }
    end

    # @return [Record]
    # @raise [Lab::Error] when there is nothing to measure or nothing to measure with
    def run
      set_up
      @record ? Continuation.new(@record, about).begin(entrants, @plan.rounds) : @record = Record.create(about, parent: @parent)
      runs = @record.runs
      earlier = entrants.to_h { |workload, all| [workload, EarlierRuns.new(runs, workload.name, all.map(&:name), @plan.rounds)] }
      @progress = Progress.new(earlier.sum { |workload, past| seconds_left(workload, past) }, out: @out)
      earlier.each { |workload, past| compete(workload, past) }
      @record
    ensure
      @loaded_stores.close
      @progress&.finish
    end

    private

    # Contenders that cannot be had are left out, with the reason.
    def set_up
      @versions = {}
      @absent = {}
      setup = Setup.new(install: @install) { |line| @out.puts("lab: #{line}") }
      setup.generators
      set_up_ceiling(setup)
      stores = @workloads.any?(&:store)
      chosen = @contenders.select { |contender| @workloads.any? { |workload| contender.does?(workload) } }
      chosen.each do |contender|
        @versions[contender.name] = setup.contender(contender, stores: stores)
      rescue Error => e
        @absent[contender.name] = e.message
        @out.puts("lab: without #{contender.title}: #{e.message}")
      end
      raise Error, "No contender is left." if @versions.empty?
    end

    def set_up_ceiling(setup)
      setup.contender(@ceiling.first) if @ceiling
    rescue Error => e
      @ceiling = nil
      say("without the generator's ceiling: #{e.message}")
    end

    # @return [Hash{Workload=>Array<Contender>}]
    def entrants
      @entrants ||= @workloads.to_h { |workload| [workload, @contenders.select { |one| @versions.key?(one.name) && one.does?(workload) }] }
    end

    def about
      { started_at: Time.now.utc.iso8601, command: @command, plan: @plan.to_h, machine: Bench::Machine.facts,
        notices: @cores.notices, absent: @absent,
        contenders: @contenders.select { |one| @versions.key?(one.name) }.to_h { |one| [one.name, contender_facts(one)] },
        workloads: @workloads.to_h { |one| [one.name, workload_facts(one)] } }
    end

    def contender_facts(one) = { title: one.title, kind: one.kind, version: @versions[one.name], configuration: one.configuration }

    def workload_facts(one)
      { title: one.title, contract: one.contract, cases: one.cases, connections: one.connections, headline: one.headline, rate: one.rate,
        store: one.store, rows: one.rows }
    end

    def compete(workload, earlier)
      hopeless = earlier.hopeless
      rates = Hash.new { |all, name| all[name] = [] }.merge!(earlier.rates)
      show_ceiling(workload) if earlier.ceilings.zero?
      RunOrder.new(entrants[workload], @plan.rounds, done: earlier.whole_rounds).each do |contender, round|
        next if hopeless.include?(contender.name)

        run = measure(contender, workload, round)
        Measurement.peak_rate(run)&.then { |rate| rates[contender.name] << rate }
        hopeless << contender.name if Measurement.hopeless?(run)
      end
      show_ceiling(workload) if earlier.ceilings < CEILINGS
      soak(workload, rates.except(*earlier.soaked)) if @plan.soak_seconds.positive?
      @loaded_stores.close
    end

    def measure(contender, workload, round)
      @progress.begin_run("#{workload.name} · #{contender.title} · round #{round} of #{@plan.rounds}", seconds(workload))
      Measurement.new(contender, workload, plan: @plan, **tools).run(round).tap do |run|
        @record.append(run)
        report_failure(contender, workload, run)
      end
    end

    def show_ceiling(workload)
      return unless @ceiling

      @progress.begin_run("#{workload.name} · the generator's ceiling", @plan.seconds)
      @record.append(Ceiling.new(*@ceiling, connections: workload.headline, seconds: @plan.seconds, **tools).run(workload.name))
    end

    def soak(workload, rates)
      entrants[workload].select { |contender| rates.key?(contender.name) }.each do |contender|
        @progress.begin_run("#{workload.name} · #{contender.title} · #{@plan.soak_seconds} s at half load", @plan.soak_seconds)
        run = Soak.new(contender, workload, rate: Bench::Statistics.median(rates[contender.name]) / 2, seconds: @plan.soak_seconds, **tools).run
        @record.append(run)
        report_failure(contender, workload, run)
      end
    end

    def report_failure(contender, workload, run)
      return unless run[:failure]

      @progress.say("lab: #{workload.name}, #{contender.title}: #{run[:failure][:step]} failed: #{run[:failure][:message]}")
    end

    def say(line) = @progress ? @progress.say("lab: #{line}") : @out.puts("lab: #{line}")
    def tools = { cores: @cores, generators: @generators, loaded_stores: @loaded_stores }

    def seconds(workload) = @plan.run_seconds(workload) + OVERHEAD_SECONDS

    # What is left to measure of a workload.
    def seconds_left(workload, earlier)
      size = entrants[workload].size
      runs = size * (@plan.rounds - earlier.whole_rounds) * seconds(workload)
      runs + (CEILINGS - earlier.ceilings) * @plan.seconds + (size - earlier.soaked.size) * @plan.soak_seconds
    end
  end
end

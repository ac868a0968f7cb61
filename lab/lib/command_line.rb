# frozen_string_literal: true

require "optparse"
require_relative "../../bench/lib/marked_text"
require_relative "listing"

module Lab
  # Owns bin/lab: its words, options and exit status.
  class CommandLine
    DEFAULT_WORKLOADS = %w[hello links].freeze
    README = "README.md"
    INTERRUPTED = 130
    BANNER = <<~TEXT
      Usage: bin/lab [options]        measures, prints a table, and writes a report
             bin/lab resume [RECORD]  goes on with a run that was interrupted
             bin/lab list             what can run here, and what is missing
             bin/lab report [RECORD]  makes the report of a record again, and puts it in short into README.md

      Without options: hello and links, two short rounds, every contender that is installed.
    TEXT

    # @param catalogue [Catalogue, nil] nil for the lab's own
    # @param parent [String] where records go
    def initialize(catalogue: nil, parent: Record::FOLDER)
      @catalogue = catalogue
      @parent = parent
    end

    # @param arguments [Array<String>]
    # @return [Integer] exit status: 0, 1 when it failed, 130 when it was interrupted
    def run(arguments)
      Dir.chdir(ROOT)
      @options = { workloads: [], contenders: [], install: true }
      @command = "bin/lab #{arguments.join(' ')}".strip
      obey(parser.parse(arguments))
    rescue OptionParser::ParseError => e
      fail_with("#{e.message}; bin/lab --help lists the options.")
    rescue Error, Bench::MarkedText::Error => e
      fail_with(e.message)
    end

    private

    def parser
      OptionParser.new do |parser|
        parser.banner = BANNER
        parser.on("--all", "every contender and every workload, five full rounds; installs what is missing") { @options[:all] = true }
        parser.on("--workload W", Array, "this workload, or several with commas") { |names| @options[:workloads] |= names }
        parser.on("--contender C", Array, "this contender, or several; installs what is missing") { |names| @options[:contenders] |= names }
        parser.on("--long", "five longer rounds, then a minute of each contender at half load") { @options[:long] = true }
        parser.on("--rounds N", Integer, "so many rounds") { |rounds| @options[:rounds] = rounds }
        parser.on("--no-install", "installs nothing; leaves out what is missing") { @options[:install] = false }
      end
    end

    def obey(words)
      case words.first
      when nil then measure(**chosen)
      when "resume" then measure(**interrupted(record(words[1])))
      when "list" then puts Listing.new(catalogue)
      when "report" then present(record(words[1]), readme: true)
      else raise Error, "There is no command #{words.first}; there are resume, list and report, and to measure there is none."
      end
      @interrupted ? INTERRUPTED : 0
    end

    def record(folder) = folder ? Record.new(folder) : Record.newest(@parent)

    # @return [Hash{Symbol=>Object}] what the options ask for
    def chosen = { contenders: contenders, workloads: workloads, plan: plan, command: @command }

    # @return [Hash{Symbol=>Object}] what the command that was interrupted asked for
    def interrupted(record)
      about = record.about
      contenders, workloads = about.values_at(:contenders, :workloads).map { |facts| facts.keys.map(&:to_s) }
      { contenders: catalogue.pick_contenders(contenders), workloads: catalogue.pick_workloads(workloads), plan: Plan.new(**about[:plan]),
        command: about[:command], record: record }
    end

    def measure(**what)
      session = Session.new(**what, install: @options[:install], ceiling: catalogue.ceiling, parent: @parent)
      end_orderly { session.run }
    rescue Interrupt
      @interrupted = true
      warn "lab: interrupted. What was measured is kept; bin/lab resume goes on."
    ensure
      present(session.record) if session&.record&.runs&.any?
    end

    # The first INT or TERM ends the run; while servers are being ended, others are not heard.
    def end_orderly
      heard = false
      handlers = %w[INT TERM].to_h { |name| [name, trap(name) { heard ? nil : (heard = true) && Thread.main.raise(Interrupt) }] }
      yield
    ensure
      handlers.each { |name, handler| trap(name, handler || "DEFAULT") }
    end

    # Without a word about contenders, those that are here; what is asked for is installed.
    def contenders
      return catalogue.pick_contenders(@options[:contenders]) if @options[:all] || @options[:contenders].any?

      catalogue.contenders.values.select { |contender| Presence.new(contender).complete? }
    end

    def workloads
      names = @options[:workloads]
      catalogue.pick_workloads(names.empty? && !@options[:all] ? DEFAULT_WORKLOADS : names)
    end

    def plan
      plan = PLANS.fetch(if @options[:long] then :long else @options[:all] ? :full : :short end)
      return plan unless @options[:rounds]
      raise Error, "--rounds must be 1 or more." unless @options[:rounds].positive?

      plan.dup.tap { |changed| changed.rounds = @options[:rounds] }
    end

    def present(record, readme: false)
      summary = Summary.new(record)
      table = Table.new(summary).to_s
      page = Report.new(summary).write(record)
      Bench::MarkedText.new(README, "lab").replace(Overview.new(record, summary).to_s) if readme
      puts table, "\nReport: #{File.expand_path(page)}"
    end

    def catalogue = @catalogue ||= Catalogue.new

    def fail_with(message)
      warn "lab: #{message}"
      1
    end
  end
end

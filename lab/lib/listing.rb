# frozen_string_literal: true

module Lab
  # What can run here, and what is missing and why.
  class Listing
    # @param catalogue [Catalogue]
    def initialize(catalogue)
      @catalogue = catalogue
    end

    # @return [String]
    def to_s
      rows = @catalogue.contenders.values.map { |contender| [contender.name, contender.title, state(contender), works(contender)] }
      notices = Cores.new.notices.map { |notice| "\n#{notice}\n" }
      [Table.grid([["contender", "", "here", "workloads"], *rows], numbers: false), "\n", *workloads, *notices].join
    end

    private

    def works(contender) = @catalogue.workloads.values.select { |workload| contender.does?(workload) }.map(&:name).join(" ")

    def state(contender)
      presence = Presence.new(contender)
      return "ready#{", never tried: #{contender.untried}" if contender.untried}" if presence.complete?
      return "#{presence.missing.join(', ')} is missing: #{presence.obstacle}" if presence.obstacle
      return "#{presence.missing.join(', ')} is missing" if presence.packages.empty?

      "#{presence.missing.join(', ')} is missing: bin/lab --contender #{contender.name} installs #{presence.packages.join(', ')}"
    end

    def workloads
      @catalogue.workloads.values.map do |one|
        "#{one.name}: #{one.title}#{" on #{one.store}" if one.store}; #{one.connections.join(', ')} connections\n"
      end
    end
  end
end

# frozen_string_literal: true

require_relative "legend"
require_relative "table"

module Lab
  # A record in short, for README.md: one table of who did how many requests per second of what. A row is a
  # workload, or a server in a record without APIs.
  class Overview
    PLAIN = "specs/plain.yml"

    # @param record [Record]
    # @param summary [Summary] of it
    def initialize(record, summary)
      @record = record
      @about = summary.about
      whole, @cut_off = summary.workloads.partition { |workload| whole?(workload) }
      @plain, @apis = whole.partition { |workload| workload[:contract] == PLAIN }
    end

    # @return [String] the table, with where and how it was measured
    def to_s
      shown = @plain + @apis
      table = ["Requests per second, median of #{@about[:plan][:rounds]} rounds:\n", *(@apis.any? ? grid : servers)] if shown.any?
      [table, *Legend.new(shown, @about[:notices]).to_a, cut_off, place].flatten.compact.join("\n")
    end

    private

    # Whether everybody had all rounds, but who failed.
    def whole?(workload) = workload[:rows].all? { |row| row[:failure] || row[:runs] == @about[:plan][:rounds] }

    # A line for each contender: its rates in all plain workloads, and what the first of them cost.
    def servers
      first = @plain.first
      heading = ["", *@plain.map { |one| one[:name] }, "÷ bare hyper", "µs CPU", "p99 ms", "private MB", ""]
      lines = first[:rows].map do |row|
        [row[:title], *@plain.map { |one| rate(one, row[:contender]) }, Format.measured(row[:of_yardstick]),
         Format.measured(row.dig(:cpu_us, :median)), Format.milliseconds(row.dig(:p99_us, :median)),
         Format.megabytes(row.dig(:private_bytes, :median)), ""]
      end
      what = @plain.map { |one| "#{one[:name]}: #{what(one)}" }.join("; ")
      [Table.grid([heading, *lines]), "#{what}. The last four columns are of #{first[:name]}.\n"]
    end

    # A line for each workload: the rates of those who do an API, Elah's first.
    def grid
      heading = ["", *contenders.map { |name| @about[:contenders].dig(name.to_sym, :title) || name }, "what"]
      lines = (@plain + @apis).map { |one| [one[:name], *contenders.map { |name| rate(one, name) }, what(one)] }
      [Table.grid([heading, *lines])]
    end

    def what(workload)
      "#{workload[:title]}#{", on #{workload[:store]}" if workload[:store]}, #{Format.count(workload[:headline])} connections"
    end

    # @return [Array<String>] names of all who do an API: Elah, then the others, the fastest in the first workload that they do before
    def contenders
      @contenders ||= @apis.flat_map { |one| one[:rows].map { |row| row[:contender] } }.uniq.partition { |name| name == Summary::SUBJECT }.flatten
    end

    def find(workload, name) = workload[:rows].find { |row| row[:contender] == name }

    def rate(workload, name)
      row = find(workload, name) or return Format::NONE
      return Format.remarks(row) unless row[:rate]

      "#{Format.measured(row[:rate][:median])}#{'*' if row[:marks].any?}"
    end

    def cut_off
      "Not measured to the end: #{@cut_off.map { |one| one[:name] }.join(', ')}.\n" if @cut_off.any?
    end

    def place
      machine = @about[:machine]
      "#{@about[:started_at][0, 10]}, #{machine[:cpu]}, #{machine[:system]}, #{machine[:ruby][/ruby \S+/]}. `#{@about[:command]}` repeats it. " \
        "All servers, ranges, latencies, plots, every run and command, and where Elah loses: [#{@record.folder}](#{@record.folder}/report.html).\n"
    end
  end
end

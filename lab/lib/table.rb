# frozen_string_literal: true

require_relative "legend"

module Lab
  # The summary as text: Markdown, which a terminal shows as well.
  class Table
    HEADINGS = ["", "requests/s (range)", "÷ bare hyper", "µs CPU/request", "p50 ms", "p99 ms", "p99.9 ms", "private MB", ""].freeze

    # @param summary [Summary]
    def initialize(summary)
      @summary = summary
    end

    # @param rows [Array<Array<String>>] the first is the heading
    # @param numbers [Boolean] whether all but the first and the last column are numbers, which stand at the right
    # @return [String] a grid in Markdown that can be read as it is
    def self.grid(rows, numbers: true)
      widths = rows.transpose.map { |column| [column.map(&:length).max, 3].max }
      right = widths.each_index.map { |index| numbers && index.positive? && index < widths.size - 1 }
      rule = widths.zip(right).map { |width, is_right| is_right ? "#{'-' * (width - 1)}:" : "-" * width }
      cells = rows.map { |row| row.zip(widths, right).map { |cell, width, is_right| is_right ? cell.rjust(width) : cell.ljust(width) } }
      cells.insert(1, rule).map { |row| "| #{row.join(' | ')} |\n" }.join
    end

    # @return [String] a table per workload, and below what the marks mean
    def to_s
      [*@summary.workloads.map { |workload| workload(workload) }, *Legend.new(@summary.workloads, @summary.about[:notices]).to_a].join("\n")
    end

    private

    def workload(workload)
      store = workload[:store] ? ", on #{workload[:store]}" : ""
      title = "**#{workload[:name]}**: #{workload[:title]}#{store}; #{workload[:headline]} connections, " \
              "latency at #{Format.count(workload[:rate])} requests/s\n"
      [title, self.class.grid([HEADINGS, *workload[:rows].map { |row| cells(row) }, ceiling(workload)])].join("\n")
    end

    def cells(row)
      [row[:title], Format.spread(row[:rate]), Format.measured(row[:of_yardstick]), Format.measured(row.dig(:cpu_us, :median)),
       *%i[p50_us p99_us p999_us].map { |key| Format.milliseconds(row.dig(key, :median)) }, Format.megabytes(row.dig(:private_bytes, :median)),
       Format.remarks(row)]
    end

    # The last row: the most that the generator can show.
    def ceiling(workload) = ["(the generator's ceiling)", Format.measured(workload[:ceiling]), *[""] * (HEADINGS.size - 2)]
  end
end

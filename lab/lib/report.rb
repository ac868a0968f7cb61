# frozen_string_literal: true

require_relative "report/page"

module Lab
  # The report of a record: one page that needs nothing besides itself, and the same as JSON.
  class Report
    # @param summary [Summary]
    def initialize(summary)
      @summary = summary
    end

    # @param record [Record]
    # @return [String] path of the page
    def write(record)
      File.write(record.file("report.json"), "#{JSON.pretty_generate(@summary.to_h)}\n")
      record.file("report.html").tap { |file| File.write(file, Page.new(@summary, record).to_s) }
    end
  end
end

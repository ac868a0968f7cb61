# frozen_string_literal: true

module Lab
  # What stands below a table: the meaning of its marks, where it has some, and what the reader must know of the figures.
  class Legend
    # @param workloads [Array<Hash{Symbol=>Object}>] those of a Summary that are shown
    # @param notices [Array<String>] of the run, in whole sentences
    def initialize(workloads, notices)
      @workloads = workloads
      @notices = notices
    end

    # @return [Array<String>] paragraphs
    def to_a
      [("* The generator, or the database on its core, was at its limit or close to it: the server may do more.\n" if marks?),
       *@notices.map { |notice| "#{notice}\n" }].compact
    end

    private

    def marks? = @workloads.any? { |workload| workload[:rows].any? { |row| row[:marks].any? } }
  end
end

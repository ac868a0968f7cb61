# frozen_string_literal: true

module Lab
  # What stands below a table: the meaning of its marks and of its column "÷ then", where it has them, and what the reader must know of the figures.
  class Legend
    # @param workloads [Array<Hash{Symbol=>Object}>] those of a Summary that are shown
    # @param notices [Array<String>] of the run, in whole sentences
    # @param compared [Array<Hash{Symbol=>Object}>] those of the workloads whose table has the column
    def initialize(workloads, notices, compared: workloads)
      @workloads = workloads
      @notices = notices
      @compared = compared
    end

    # @return [Array<String>] paragraphs
    def to_a
      [("* The generator, or the database on its core, was at its limit or close to it: the server may do more.\n" if marks?),
       ("÷ then: by the best figure published of the same work between 2011 and 2015, on other hardware.\n" if originals?),
       *@notices.map { |notice| "#{notice}\n" }].compact
    end

    private

    def marks? = @workloads.any? { |workload| workload[:rows].any? { |row| row[:marks].any? } }
    def originals? = @compared.any? { |workload| workload[:originals].any? }
  end
end

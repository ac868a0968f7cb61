# frozen_string_literal: true

module Lab
  # What stands below a table: the meaning of its marks, where it has some, and what the reader must know of the figures.
  class Legend
    # Stores whose server is not the one that their protocol is named after.
    STAND_INS = {
      "mongodb" => "mongodb: mongo-java-server, which keeps everything in memory, stands in for MongoDB. Compare these rows with no other row."
    }.freeze
    private_constant :STAND_INS

    # @param workloads [Array<Hash{Symbol=>Object}>] those of a Summary that are shown
    # @param notices [Array<String>] of the run, in whole sentences
    def initialize(workloads, notices)
      @workloads = workloads
      @notices = notices
    end

    # @return [Array<String>] paragraphs
    def to_a
      [("* The generator, or the database on its core, was at its limit or close to it: the server may do more.\n" if marks?),
       *STAND_INS.values_at(*@workloads.map { |workload| workload[:store] }.uniq).compact.map { |line| "#{line}\n" },
       *@notices.map { |notice| "#{notice}\n" }].compact
    end

    private

    def marks? = @workloads.any? { |workload| workload[:rows].any? { |row| row[:marks].any? } }
  end
end

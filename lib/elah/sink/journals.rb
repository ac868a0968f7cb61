# frozen_string_literal: true

module Elah
  class Sink
    # The journals of a sink's folder that this process owns: one to append to, and for a while those of dead processes.
    class Journals
      NUMBERS_MAX = 10_000
      private_constant :NUMBERS_MAX

      # @param folder [String] of the sink
      # @return [Array<String>] names of the journals
      def self.names(folder) = Dir.exist?(folder) ? Dir.children(folder).select { |name| name.b.match?(/\Ajournal-\d+\z/) }.sort : []

      # @param folder [String] of the sink
      # @return [Array<String>] paths of the segments that were set aside as damaged
      def self.damaged(folder) = Dir.glob("journal-*/*.damaged", base: folder).sort.map { |path| File.join(folder, path) }

      # @param folder [String] of the sink
      # @param ledger [Ledger]
      # @param bounds [Bounds]
      # @param clock [Elah::Store::Clock, nil]
      # @yieldparam damages [Array<Array(String, Integer, Boolean)>] damage found at an opening: path, offset, and whether the file only ends early
      def initialize(folder, ledger, bounds, clock, &damaged)
        @damaged = damaged
        @folder = folder
        @ledger = ledger
        @bounds = bounds
        @clock = clock
      end

      # Opens the journal with this number or, if another process owns it, the next free one.
      #
      # @param number [Integer]
      # @return [Array(String, Journal)] its name and itself
      # @raise [CannotOpen]
      def open_own(number)
        (number..number + NUMBERS_MAX).each do |candidate|
          name = "journal-#{candidate}"
          journal = open(name)
          return [name, journal] if journal
        end
        raise CannotOpen, "All #{NUMBERS_MAX} journals of #{@folder} belong to other processes."
      end

      # @return [Array<String>] names of the journals that have segments
      def left = self.class.names(@folder).select { |name| left?(name) }

      # @param name [String]
      # @return [Boolean] whether it is a journal with segments
      def left?(name)
        path = File.join(@folder, name)
        File.directory?(path) && Dir.children(path).any? { |file| file.end_with?(".segment") }
      end

      # Takes over a journal, unless another process owns it.
      #
      # @param name [String]
      # @yieldparam journal [Journal] closed after the block
      def adopt(name)
        journal = open(name) or return

        begin
          yield journal
        ensure
          journal.close
        end
      end

      private

      # The last owner may have settled a batch before this process got the lock. So the ledger is read again.
      def open(name)
        progress = @ledger.progress(name)
        journal = Journal.open(File.join(@folder, name), @bounds.for_journal, progress, @clock)
        @damaged.call(journal.damages) if journal
        return journal if journal.nil? || progress == @ledger.progress(name)

        journal.close
        open(name)
      end
    end
  end
end

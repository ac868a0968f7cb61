# frozen_string_literal: true

module Elah
  class Sink
    # What {Sink} does with damaged segments: it reads what can be read in them.
    module Salvage
      # What a damaged segment held.
      #
      # @!attribute path [String] where the file is kept now
      # @!attribute events [Integer] how many are in the journal again
      # @!attribute lost [Array<Range>] the bytes of the file that cannot be read
      Finding = Struct.new(:path, :events, :lost)

      # What {#salvage} did.
      #
      # @!attribute findings [Array<Finding>] one for each damaged segment
      # @!attribute missing [Integer] how many events of before are lost: they count as accepted no more
      Outcome = Struct.new(:findings, :missing)

      # Puts the events of damaged segments that can be read into the journal again, with the ids that they had, and renames the files from
      # `*.damaged` to `*.salvaged`. When it was interrupted, the next call does the same again.
      #
      # @return [Outcome]
      # @raise [Full] when the journal has no room for more
      # @raise [Elah::Error] while somebody else salvages or replays this sink
      def salvage
        alone { salvage_all }
      end

      private

      def salvage_all
        # Journals that nobody has opened since may hold damage that nobody has found.
        journals = @works.journals(ledger, @clock)
        journals.left.each { |name| journals.adopt(name) { nil } }
        findings = Journals.damaged(@folder).map { |path| salvage_file(path) }
        missing = Account.of(@folder, ledger).missing
        ledger.write_off(missing)
        Outcome.new(findings, missing.values.sum)
      end

      def salvage_file(path)
        rows, lost = Journal.salvage(path)
        last = rows.map { |id, stream, accepted_ms, json, bytes| journal.append_record(json, bytes, stream, id, accepted_ms) }.last
        journal.wait_synced(last) if last
        kept = path.sub(/\.damaged\z/, ".salvaged")
        File.rename(path, kept)
        Finding.new(kept, rows.size, lost.map { |from, to| from...to })
      end
    end
  end
end

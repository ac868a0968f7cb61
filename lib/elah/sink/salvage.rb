# frozen_string_literal: true

module Elah
  class Sink
    # Salvage of a {Sink}: recovers the readable events of damaged segments.
    module Salvage
      # Result for one damaged segment.
      #
      # @attr_reader [String] path current path of the file
      # @attr_reader [Integer] events number of events that are in the journal again
      # @attr_reader [Array<Range<Integer>>] lost byte ranges of the file that cannot be read
      # @attr_reader [String, nil] reason why the file was left unchanged; nil if it was read
      Finding = Struct.new(:path, :events, :lost, :reason)

      # Result of {#salvage}.
      #
      # @attr_reader [Array<Finding>] findings one for each damaged segment
      # @attr_reader [Integer] missing number of lost events, which no longer count as accepted
      Outcome = Struct.new(:findings, :missing)

      # Puts the readable events of damaged segments into the journal again, with the same IDs, and renames the files from `*.damaged` to
      # `*.salvaged`. After an interruption the next call repeats the work. Waits while another fiber or process replays or salvages this sink.
      #
      # @return [Outcome]
      # @raise [Full] when the journal has no room for more
      def salvage
        alone { salvage_all }
      end

      private

      def salvage_all
        # Opening the remaining journals finds damage that no process has seen yet.
        journals = @delivery_worker.journals(ledger, @clock)
        journals.left.each { |name| journals.adopt(name) { nil } }
        findings = Journals.damaged(@folder).map { |path| salvage_file(path) }
        missing = Account.of(@folder, ledger).missing
        ledger.write_off(missing)
        # Events that were read count anew, with their new records; only the others are lost.
        Outcome.new(findings, [missing.values.sum - findings.sum(&:events), 0].max)
      end

      def salvage_file(path)
        rows, lost = read_damaged(path)
        return Finding.new(path, 0, [], lost) unless rows

        last = rows.map { |id, stream, accepted_ms, json, bytes| journal.append_record(json, bytes, stream, id, accepted_ms) }.last
        journal.wait_synced(last) if last
        kept = path.sub(/\.damaged\z/, ".salvaged")
        File.rename(path, kept)
        Finding.new(kept, rows.size, lost.map { |from, to| from...to })
      end

      # @return [Array] rows and lost bytes; nil and the reason if the file is not a damaged segment
      def read_damaged(path)
        Journal.salvage(path)
      rescue CannotOpen => e
        [nil, e.message]
      end
    end
  end
end

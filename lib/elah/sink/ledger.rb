# frozen_string_literal: true

require_relative "counts"
require_relative "dead_letter"

module Elah
  class Sink
    # The durable state of a sink, in a store that all its processes share: the position of each journal, the {Counts} of accepted, delivered and
    # parked events, and the dead letters. One transaction settles a batch, so a killed process leaves all of it or nothing.
    class Ledger
      HORIZON = "horizon"
      JOURNALS_MAX = 100_000
      private_constant :HORIZON, :JOURNALS_MAX

      # One consistent view of a ledger, while {Ledger#view} runs its block.
      #
      # @attr_reader [Transaction] tx for the methods of {Counts}
      # @attr_reader [Counts] counts
      # @attr_reader [Hash{String=>Array(Integer, Integer)}] progress by journal, as of {Ledger#progress}
      # @attr_reader [Integer] horizon the first minute that has counts of its own
      View = Struct.new(:tx, :counts, :progress, :horizon)

      # @param folder [String] of the sink
      # @return [Ledger]
      def self.open(folder)
        require "fileutils"
        FileUtils.mkdir_p(folder)
        new(Store.open(File.join(folder, "ledger")))
      rescue SystemCallError => e
        raise CannotOpen, "The sink in #{folder} cannot be opened: #{e.message}."
      end

      # @param store [Elah::Store]
      def initialize(store)
        @store = store
        @counts = Counts.new(store)
        @positions = store.table("positions")
        @dead = store.table("dead")
        @summed = 0
      end

      # @param journal [String] its name
      # @return [Array(Integer, Integer)] the position up to which its events are settled, and the one up to which they are counted as accepted
      def progress(journal) = @positions.get(journal)&.unpack("Q>2") || [0, 0]

      # Records that a batch is settled.
      #
      # @param journal [String] its name
      # @param from [Integer] position at which the batch begins
      # @param progress [Array(Integer, Integer)] as returned by {#progress}
      # @param accepted [Array<Array(String, Integer, Integer)>] stream, minute and number of events accepted since the last time
      # @param delivered [Array<Event>] all events of the batch except the dead letters
      # @param dead [Array<DeadLetter>]
      # @return [void]
      # @raise [Closed] when another process has settled the batch, because this one no longer owns the journal
      # @raise [Store::TooLarge] when a transaction cannot hold as many rows and letters
      def settle(journal, from, progress, accepted:, delivered:, dead:)
        @store.transaction do |tx|
          settled = tx.get(@positions, journal)&.unpack1("Q>") || 0
          raise Closed, "#{journal} belongs to another process now." unless settled == from

          changes = Counts.changes
          horizon = horizon(tx)
          accepted.each { |stream, minute, events| changes[row(stream, minute, horizon)][0] += events }
          tally(delivered) { |stream, minute, events| changes[row(stream, minute, horizon)][1] += events }
          dead.each { |letter| park(tx, letter, changes[row_of(letter, horizon)]) }
          @counts.add(tx, changes)
          tx.put(@positions, journal, progress.pack("Q>2"))
        end
      end

      # Adds up the minutes before this one, which are no longer listed separately.
      #
      # @param minute [Integer]
      # @return [void]
      def aggregate_before(minute)
        return if minute < 1 || minute == @summed

        @summed = minute
        nil until @store.transaction { |tx| aggregate_some(tx, minute) } < Counts::ROWS_AT_ONCE
      end

      # Subtracts lost events from the accepted ones: events that are neither delivered, queued nor dead. After an interruption the rest is still
      # missing.
      #
      # @param missing [Hash{Array(String, Integer)=>Integer}] their number, by stream and minute
      # @return [void]
      def write_off(missing)
        missing.each_slice(Counts::ROWS_AT_ONCE) do |rows|
          @store.transaction do |tx|
            changes = Counts.changes
            horizon = horizon(tx)
            rows.each { |(stream, minute), events| changes[row(stream, minute, horizon)][0] -= events }
            @counts.add(tx, changes)
          end
        end
      end

      # @yieldparam view [View] of one moment, however long the block reads it
      # @return [Object] the block's value
      # @raise [Store::Closed] when a fork has ended the view
      def view
        @store.transaction do |tx|
          progress = tx.range(@positions, limit: JOURNALS_MAX).to_h { |key, value| [key, value.unpack("Q>2")] }
          yield View.new(tx, @counts, progress.except(HORIZON), horizon(tx))
        end
      end

      # @return [Integer] the minute of the system's clock, since 1970
      def now_minute = @store.now_ms / 60_000

      # @return [Integer] dead letters
      def dead_count = @dead.size

      # @param after [String, nil] the ID, as 16 bytes, of the last letter of the previous page
      # @param limit [Integer]
      # @return [Array<DeadLetter>] in the order in which the events were created
      def dead_letters(after: nil, limit: 100) = @dead.range(after: after, limit: limit).map { |id, bytes| DeadLetter.load(id, bytes) }

      # @return [String, nil] the ID, as 16 bytes, of the last of them
      def last_dead_id = @dead.range(limit: 1, reverse: true).first&.first

      # @param raw_id [String] 16 bytes
      # @return [DeadLetter, nil]
      def dead_letter(raw_id) = @dead.get(raw_id)&.then { |bytes| DeadLetter.load(raw_id, bytes) }

      # Deletes dead letters that are discarded, or that are in a journal again and count anew there. A letter that was parked again meanwhile
      # stays.
      #
      # @param letters [Array<DeadLetter>]
      # @return [void]
      def withdraw(letters)
        @store.transaction do |tx|
          changes = Counts.changes
          horizon = horizon(tx)
          letters.each do |letter|
            next unless stored(tx, letter.raw_id)&.parkings == letter.parkings

            tx.delete(@dead, letter.raw_id)
            counts = changes[row_of(letter, horizon)]
            counts[0] -= 1
            counts[2] -= 1
          end
          @counts.add(tx, changes)
        end
      end

      # @return [void]
      def close = @store.close

      private

      # Most events of a batch share stream and minute.
      def tally(events)
        counts = Hash.new { |streams, stream| streams[stream.freeze] = Hash.new(0) }
        events.each { |event| counts[event.stream][event.accepted_ms / 60_000] += 1 }
        counts.each { |stream, minutes| minutes.each { |minute, count| yield stream, minute, count } }
      end

      # A letter that is parked again replaces the first one, which was counted before.
      def park(tx, letter, counts)
        earlier = stored(tx, letter.raw_id)
        letter = letter.replacing(earlier) if earlier
        tx.put(@dead, letter.raw_id, letter.dump)
        earlier ? counts[0] -= 1 : counts[2] += 1
      end

      def stored(tx, raw_id) = tx.get(@dead, raw_id)&.then { |bytes| DeadLetter.load(raw_id, bytes) }

      # A clock that was ahead has moved the horizon there. It goes back once that splits no event's counts between two rows.
      def aggregate_some(tx, minute)
        rows = @counts.aggregate_some(tx, minute)
        horizon = horizon(tx)
        is_ahead = horizon > now_minute && @counts.earlier_settled?(tx)
        tx.put(@positions, HORIZON, [minute, 0].pack("Q>2")) if minute > horizon || is_ahead
        rows
      end

      def row_of(letter, horizon) = row(letter.stream, letter.accepted_ms / 60_000, horizon)

      def row(stream, minute, horizon) = [stream, minute < horizon ? Counts::EARLIER : minute]

      def horizon(tx) = tx.get(@positions, HORIZON)&.unpack1("Q>") || 0
    end
  end
end

# frozen_string_literal: true

require_relative "dead_letter"

module Elah
  class Sink
    # The durable state of a sink, in a store that all its processes share: the position of each journal, the counts of accepted, delivered and
    # parked events by stream and minute, and the dead letters. One transaction settles a batch, so a killed process leaves all of it or nothing.
    class Ledger
      # The key under which minutes older than those kept are added up.
      EARLIER = 0
      HORIZON = "horizon"
      # Rows of a transaction, if all of them need not change at once.
      ROWS_AT_ONCE = 500
      private_constant :HORIZON, :ROWS_AT_ONCE

      # One consistent read of all counters.
      Reading = Struct.new(:sums, :progress, :horizon)

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
        @minutes = store.table("minutes")
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

          sums = zeros
          horizon = horizon(tx)
          accepted.each { |stream, minute, events| sums[key(stream, minute, horizon)][0] += events }
          tally(delivered) { |stream, minute, events| sums[key(stream, minute, horizon)][1] += events }
          dead.each { |letter| park(tx, letter, sums[key(letter.stream, letter.accepted_ms / 60_000, horizon)]) }
          add(tx, sums)
          tx.put(@positions, journal, progress.pack("Q>2"))
        end
      end

      # Adds up the minutes before this one, which are no longer listed separately.
      #
      # @param minute [Integer]
      # @return [void]
      def aggregate_before(minute)
        return if minute <= @summed

        @summed = minute
        nil until @store.transaction { |tx| aggregate_some(tx, minute) } < ROWS_AT_ONCE
      end

      # Subtracts lost events from the accepted ones: events that are neither delivered, queued nor dead. After an interruption the rest is still
      # missing.
      #
      # @param missing [Hash{Array(String, Integer)=>Integer}] their number, by stream and minute
      # @return [void]
      def write_off(missing)
        missing.each_slice(ROWS_AT_ONCE) do |rows|
          @store.transaction do |tx|
            sums = zeros
            horizon = horizon(tx)
            rows.each { |(stream, minute), events| sums[key(stream, minute, horizon)][0] -= events }
            add(tx, sums)
          end
        end
      end

      # @return [Reading]
      def read
        @store.transaction do |tx|
          sums = all(tx, @minutes).to_h { |key, value| [[key.byteslice(4..).force_encoding("UTF-8"), key.unpack1("N")], value.unpack("q>3")] }
          progress = all(tx, @positions).to_h { |key, value| [key, value.unpack("Q>2")] }
          Reading.new(sums, progress.except(HORIZON), horizon(tx))
        end
      end

      # @return [Integer] dead letters
      def dead_count = @dead.size

      # @param after [String, nil] the ID, as 16 bytes, of the last letter of the previous page
      # @param limit [Integer]
      # @return [Array<DeadLetter>] in the order in which the events were created
      def dead_letters(after: nil, limit: 100) = @dead.range(after: after, limit: limit).map { |id, bytes| DeadLetter.load(id, bytes) }

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
          sums = zeros
          horizon = horizon(tx)
          letters.each do |letter|
            next unless stored(tx, letter.raw_id)&.parkings == letter.parkings

            tx.delete(@dead, letter.raw_id)
            sum = sums[key(letter.stream, letter.accepted_ms / 60_000, horizon)]
            sum[0] -= 1
            sum[2] -= 1
          end
          add(tx, sums)
        end
      end

      # @return [void]
      def close = @store.close

      private

      # Accepted, delivered and dead events, by the key of a minute.
      def zeros = Hash.new { |all, key| all[key.freeze] = [0, 0, 0] }

      # Most events of a batch share stream and minute.
      def tally(events)
        counts = Hash.new { |streams, stream| streams[stream.freeze] = Hash.new(0) }
        events.each { |event| counts[event.stream][event.accepted_ms / 60_000] += 1 }
        counts.each { |stream, minutes| minutes.each { |minute, count| yield stream, minute, count } }
      end

      # A letter that is parked again replaces the first one, which was counted before.
      def park(tx, letter, sum)
        earlier = stored(tx, letter.raw_id)
        letter = letter.replacing(earlier) if earlier
        tx.put(@dead, letter.raw_id, letter.dump)
        earlier ? sum[0] -= 1 : sum[2] += 1
      end

      def stored(tx, raw_id) = tx.get(@dead, raw_id)&.then { |bytes| DeadLetter.load(raw_id, bytes) }

      def add(tx, sums)
        sums.each do |key, changes|
          sum = tx.get(@minutes, key)&.unpack("q>3") || [0, 0, 0]
          tx.put(@minutes, key, sum.zip(changes).map(&:sum).pack("q>3"))
        end
      end

      def aggregate_some(tx, minute)
        old = tx.range(@minutes, from: [EARLIER + 1].pack("N"), to: [minute].pack("N"), limit: ROWS_AT_ONCE)
        sums = zeros
        old.each do |key, value|
          earlier = [EARLIER].pack("N") + key.byteslice(4..)
          sums[earlier] = sums[earlier].zip(value.unpack("q>3")).map(&:sum)
          tx.delete(@minutes, key)
        end
        add(tx, sums)
        tx.put(@positions, HORIZON, [minute, 0].pack("Q>2")) if minute > horizon(tx)
        old.size
      end

      def key(stream, minute, horizon) = [minute < horizon ? EARLIER : minute].pack("N") + stream.b

      def horizon(tx) = tx.get(@positions, HORIZON)&.unpack1("Q>") || 0

      def all(tx, table)
        found = []
        while (page = tx.range(table, after: found.last&.first)).any?
          found.concat(page)
        end
        found
      end
    end
  end
end

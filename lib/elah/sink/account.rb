# frozen_string_literal: true

module Elah
  class Sink
    # The conservation law of a sink: for every stream and minute, each accepted event is delivered, queued or dead. It is read from disk, so every
    # process and the command line see all workers.
    #
    # Accepted events are counted where they are appended, delivered and dead ones where they are settled, and queued ones in the journals. So the
    # equation is checked, not assumed.
    #
    # The ledger is read page by page, and other fibers run in between. What is read and kept grows with the number of streams and of queued events,
    # not with the number of minutes in the ledger.
    class Account
      ATTEMPTS_MAX = 10
      UNSETTLED = [0, 0].freeze # progress of a journal of which nothing is settled
      private_constant :ATTEMPTS_MAX, :UNSETTLED

      # Rows of streams and minutes that are listed at most: the newest.
      ROWS_MAX = 20_000

      Sums = Struct.new(:accepted, :delivered, :queued, :dead) do
        # @return [self] with these numbers added
        def add(accepted, delivered, queued, dead)
          self.accepted += accepted
          self.delivered += delivered
          self.queued += queued
          self.dead += dead
          self
        end
      end

      # @return [Integer] damaged segments: their events are neither delivered nor queued
      attr_reader :damaged

      # @return [Hash{String=>Sums}] the sums of each stream
      attr_reader :streams

      # @return [Hash{Array(String, Integer)=>Sums}] those of the listed minutes since 1970, by stream and minute
      attr_reader :sums

      # @return [Hash{Array(String, Integer)=>Integer}] accepted events that are neither delivered, queued nor dead, by stream and minute; minute 0
      #   is the sum of all minutes before those kept
      attr_reader :missing

      # @param folder [String] of the sink
      # @param ledger [Ledger]
      # @param minutes [Integer] number of recent minutes to list
      # @return [Account]
      def self.of(folder, ledger, minutes: 0)
        ATTEMPTS_MAX.times do
          account = ledger.view do |view|
            counted = count(folder, view, ledger)
            counted && new(view, *counted, minutes, ledger.now_minute)
          end
          return account if account
        rescue Store::Closed # as before a fork: the ledger can be opened again
          next
        end
        raise Error, "The journals in #{folder} changed faster than they could be read, #{ATTEMPTS_MAX} times."
      end

      # @return [Array(Array<Array>, Integer), nil] rows and damaged segments; nil when a journal has changed meanwhile: read the ledger again
      def self.count(folder, view, ledger)
        counted = []
        damaged = 0
        Journals.names(folder).each do |name|
          progress = view.progress.fetch(name, UNSETTLED)
          rows, files = scan(File.join(folder, name), progress) { ledger.progress(name) }
          break if rows.nil?

          counted.concat(rows)
          damaged += files
        end && [counted, damaged]
      end

      # A journal that was closed empty has no files, and one without progress names none: of such a one nothing is missed if its progress is the same
      # afterwards.
      def self.scan(path, progress)
        found = Journal.scan(path, progress, true)
        return found if found && progress != UNSETTLED

        found ||= Journal.scan(path, progress, false)
        found if yield == progress
      end
      private_class_method :count, :scan

      # @param view [Ledger::View]
      # @param counted [Array<Array(String, Integer, Integer, Integer)>] stream, minute, queued events, and accepted ones that the ledger has not
      #   counted
      # @param damaged [Integer] segments
      # @param minutes [Integer]
      # @param now_minute [Integer] later ones, of a clock that was ahead, are listed in addition
      def initialize(view, counted, damaged, minutes, now_minute)
        @damaged = damaged
        counted.each { |row| row[0].force_encoding(Encoding::UTF_8) }
        @streams = new_sums
        view.counts.each_stream(view.tx) { |stream, (accepted, delivered, dead)| @streams[stream].add(accepted, delivered, 0, dead) }
        counted.each { |stream, _, queued, uncounted| @streams[stream].add(uncounted, 0, queued, 0) }
        @missing = missing_in(view, counted)
        @sums = minutes.positive? ? listed(view, counted, minutes, now_minute) : {}
      end

      # @return [Sums]
      def total = @streams.values.each_with_object(Sums.new(0, 0, 0, 0)) { |sums, total| total.add(*sums) }

      # @return [Boolean] whether the law holds for each stream and minute, and no segment is damaged
      def holds? = @damaged.zero? && @missing.empty?

      # @return [Hash{String=>Object}]
      def to_h
        minutes = @sums.group_by { |(stream, _), _| stream }
        labels = self.labels
        streams = @streams.to_h do |stream, sums|
          [stream, { "total" => row(sums), "minutes" => minute_rows(minutes.fetch(stream, []), labels) }]
        end
        { "holds" => holds?, "total" => row(total), "streams" => streams, "damaged_segments" => @damaged }
      end

      private

      def new_sums = Hash.new { |all, key| all[key] = Sums.new(0, 0, 0, 0) }

      def missing_in(view, counted)
        missing = Hash.new(0)
        view.counts.each_difference(view.tx) { |stream, minute, difference| missing[[stream, minute]] += difference }
        counted.each do |stream, minute, queued, uncounted|
          missing[[stream, minute < view.horizon ? Counts::EARLIER : minute]] += uncounted - queued
        end
        missing.reject { |_, events| events.zero? }
      end

      def listed(view, counted, minutes, now_minute)
        newest = [view.counts.newest(view.tx), *counted.map { |row| row[1] }].max
        from = [[newest, now_minute].min - minutes + 1, view.horizon, Counts::EARLIER + 1].max
        sums = new_sums
        view.counts.each_minute(view.tx, from) do |stream, minute, (accepted, delivered, dead)|
          break (from = minute + 1) if sums.size == ROWS_MAX

          sums[[stream, minute]].add(accepted, delivered, 0, dead)
        end
        counted.each do |stream, minute, queued, uncounted|
          row = [stream, minute]
          sums[row].add(uncounted, 0, queued, 0) if minute >= from || sums.key?(row)
        end
        sums
      end

      def minute_rows(sums, labels)
        sums.sort_by { |(_, minute), _| minute }.map { |(_, minute), each| { "minute" => labels[minute], **row(each) } }
      end

      def row(sums) = { "accepted" => sums.accepted, "delivered" => sums.delivered, "queued" => sums.queued, "dead" => sums.dead }

      def labels = Hash.new { |all, minute| all[minute] = Time.at(minute * 60, in: "UTC").strftime("%Y-%m-%dT%H:%MZ") }
    end
  end
end

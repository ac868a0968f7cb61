# frozen_string_literal: true

module Elah
  class Sink
    # The conservation law of a sink: for every stream and minute, each accepted event is delivered, queued or dead. It is read from disk, so every
    # process and the command line see all workers.
    #
    # Accepted events are counted where they are appended, delivered and dead ones where they are settled, and queued ones in the journals. So the
    # equation is checked, not assumed.
    class Account
      ATTEMPTS_MAX = 10
      private_constant :ATTEMPTS_MAX

      Sums = Struct.new(:accepted, :delivered, :queued, :dead) do
        # @return [Boolean]
        def hold? = accepted == delivered + queued + dead

        def +(other) = self.class.new(*to_a.zip(other.to_a).map(&:sum))
      end

      # @return [Integer] damaged segments: their events are neither delivered nor queued
      attr_reader :damaged

      # @return [Hash{Array(String, Integer)=>Sums}] by stream and minute since 1970; minute 0 is the sum of all minutes before those kept
      attr_reader :sums

      # @param folder [String] of the sink
      # @param ledger [Ledger]
      # @return [Account]
      def self.of(folder, ledger)
        ATTEMPTS_MAX.times do
          reading = ledger.read
          counted = count(folder, reading, ledger)
          return new(reading, *counted) if counted
        end
        raise Error, "The journals in #{folder} changed faster than they could be read, #{ATTEMPTS_MAX} times."
      end

      # @return [Array(Array<Array>, Integer), nil] rows and damaged segments; nil when a journal has changed meanwhile: read the ledger again
      def self.count(folder, reading, ledger)
        counted = []
        damaged = 0
        Journals.names(folder).each do |name|
          progress = reading.progress.fetch(name, [0, 0])
          path = File.join(folder, name)
          rows, files = Journal.scan(path, progress, true)
          # A journal that was closed empty has no files.
          rows, files = Journal.scan(path, progress, false) if rows.nil? && ledger.progress(name) == progress
          break if rows.nil?

          counted.concat(rows)
          damaged += files
        end && [counted, damaged]
      end
      private_class_method :count

      # @param reading [Ledger::Reading]
      # @param counted [Array<Array(String, Integer, Integer, Integer)>] stream, minute, queued events, and accepted ones that the ledger has not
      #   counted
      # @param damaged [Integer] segments
      def initialize(reading, counted, damaged)
        @damaged = damaged
        @sums = Hash.new { |all, key| all[key] = Sums.new(0, 0, 0, 0) }
        reading.sums.each { |key, (accepted, delivered, dead)| @sums[key] += Sums.new(accepted, delivered, 0, dead) }
        counted.each do |stream, minute, queued, uncounted|
          minute = Ledger::EARLIER if minute < reading.horizon
          @sums[[stream.force_encoding(Encoding::UTF_8), minute]] += Sums.new(uncounted, 0, queued, 0)
        end
      end

      # @return [Sums]
      def total = @sums.values.reduce(Sums.new(0, 0, 0, 0), :+)

      # @return [Boolean] whether the law holds for each stream and minute, and no segment is damaged
      def holds? = @damaged.zero? && @sums.values.all?(&:hold?)

      # @return [Hash{Array(String, Integer)=>Integer}] accepted events that are neither delivered, queued nor dead
      def missing = @sums.transform_values { |sums| sums.accepted - sums.delivered - sums.queued - sums.dead }.reject { |_, events| events.zero? }

      # @param minutes [Integer] number of recent minutes to list separately
      # @return [Hash{String=>Object}]
      def to_h(minutes:)
        newest = @sums.keys.map(&:last).max || 0
        streams = @sums.group_by { |(stream, _), _| stream }.to_h do |stream, rows|
          shown = rows.select { |(_, minute), _| minute > newest - minutes && minute != Ledger::EARLIER }.sort_by { |(_, minute), _| minute }
          [stream, { "total" => row(rows.map(&:last).reduce(:+)),
                     "minutes" => shown.map { |(_, minute), sums| { "minute" => label(minute) }.merge(row(sums)) } }]
        end
        { "holds" => holds?, "total" => row(total), "streams" => streams, "damaged_segments" => @damaged }
      end

      private

      def row(sums) = sums.to_h.transform_keys(&:to_s)

      def label(minute) = Time.at(minute * 60, in: "UTC").strftime("%Y-%m-%dT%H:%MZ")
    end
  end
end

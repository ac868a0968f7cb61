# frozen_string_literal: true

require_relative "../native"
require_relative "parquet_column"
raise Elah::ClientMissing, "Elah::Sink::ParquetFiles" unless defined?(Elah::Clients::ParquetFolder)

module Elah
  class Sink
    # A destination: Parquet files in a folder, partitioned by the day and the hour (UTC) in which events were accepted:
    # `day=2026-11-21/hour=13/ID.parquet`, as DuckDB, Spark and others read them. A batch writes one file per hour.
    #
    # A file is synced, then renamed into place, so readers never see a partial file. It has the name of its first event: a batch that is repeated
    # after a crash replaces the file of its earlier attempt.
    class ParquetFiles
      # Columns of every file beside `id`.
      OWN = { "stream" => :text, "accepted_at" => :time, "data" => :json, "bytes" => :bytes }.freeze
      # Names that readers know otherwise: the last two are those of the folders.
      TAKEN = ["id", *OWN.keys, "day", "hour"].freeze
      HOUR_MS = 3_600_000
      private_constant :OWN, :TAKEN, :HOUR_MS

      # @param folder [String] created if it is missing; on a local file system
      # @param columns [Hash{String, Symbol=>Symbol}] names and kinds of additional columns: `:text`, `:integer`, `:float`, `:boolean`, `:time`
      # @yieldparam event [Event]
      # @yieldreturn [Array] the values of `columns`; by default the members of the event's data with the same names
      # @raise [Elah::OptionError] when a name or a kind is invalid
      def initialize(folder, columns: {}, &row)
        @columns = columns.map { |name, kind| ParquetColumn.new(name.to_s, kind) }
        names = @columns.map(&:name)
        taken = names.find { |name| TAKEN.include?(name) || names.count(name) > 1 }
        raise OptionError, "The column #{taken} exists already." if taken

        @row = row || ->(event) { event.json? ? event.data.values_at(*names) : [] }
        @files = Clients::ParquetFolder.new(File.expand_path(folder))
        @is_clean = false
      end

      # @param events [Array<Event>]
      # @return [void]
      # @raise [Rejected] when a value does not have its column's kind, or the block has failed
      # @raise [SystemCallError] when the files cannot be written
      def deliver(events)
        @is_clean ||= @files.clean
        reasons = {}
        # All rows before the first file: a part of the batch would not replace the files of the whole.
        rows = events.uniq(&:raw_id).filter_map { |event| (values = values(event, reasons)) && [event, values] }
        rows.group_by { |event, _| event.accepted_ms / HOUR_MS }.each { |hour, of_hour| put(hour, of_hour) }
        raise Rejected, reasons if reasons.any?
      end

      private

      def put(hour, rows)
        events = rows.map(&:first)
        partition = Time.at(hour * 3600, in: "UTC").strftime("day=%Y-%m-%d/hour=%H")
        columns = @columns.each_with_index.map { |column, index| [column.name, column.kind, rows.map { |_, values| values[index] }] }
        @files.put(partition, events.map(&:raw_id).join, own(events) + columns)
      end

      def own(events)
        [["stream", :text, events.map(&:stream)], ["accepted_at", :time, events.map { |event| event.accepted_ms * 1000 }],
         ["data", :json, events.map { |event| event.bytes if event.json? }], ["bytes", :bytes, events.map { |event| event.bytes unless event.json? }]]
      end

      def values(event, reasons)
        given = event.map_with(@row)
        @columns.each_with_index.map { |column, index| column.cast(given[index]) }
      rescue StandardError => e
        raise if e.is_a?(Cancelled) || Attempts.passing?(e)

        reasons[event.id] = e.is_a?(ParquetColumn::Misfit) ? e.message : Text.of_exception(e)
        nil
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../native"
require_relative "parquet_column"
raise Elah::ClientMissing, "Elah::Sink::ParquetFiles" unless defined?(Elah::Clients::ParquetFolder)

module Elah
  class Sink
    # Parquet files in a folder as a destination, partitioned by the day and the hour (UTC) at which events were accepted:
    # `day=2026-11-21/hour=13/ID.parquet`, as DuckDB, Spark and others read them. A batch makes one file in each hour that it touches.
    #
    # A file is synced and then renamed into its place, so that nobody sees a part of one. It is named by its first event: a batch that
    # comes again after a crash replaces what its earlier attempt has left.
    class ParquetFiles
      # Columns that every file has beside `id`.
      OWN = { "stream" => :text, "accepted_at" => :time, "data" => :json, "bytes" => :bytes }.freeze
      HOUR_MS = 3_600_000
      private_constant :OWN, :HOUR_MS

      # @param folder [String] is made when it is missing; on a local file system
      # @param columns [Hash{String, Symbol=>Symbol}] names and kinds of more columns: `:text`, `:integer`, `:float`, `:boolean`, `:time`
      # @yieldparam event [Event]
      # @yieldreturn [Array] the values of `columns`; without a block they are those of the event's data of the same names
      # @raise [Elah::OptionError] when a name or a kind is none
      def initialize(folder, columns: {}, &row)
        @columns = columns.map { |name, kind| ParquetColumn.new(name.to_s, kind) }
        names = @columns.map(&:name)
        taken = names.find { |name| name == "id" || OWN.key?(name) || names.count(name) > 1 }
        raise OptionError, "There is a column #{taken} already." if taken

        @row = row || ->(event) { event.json? ? event.data.values_at(*names) : [] }
        @files = Clients::ParquetFolder.new(File.expand_path(folder))
        @is_clean = false
      end

      # @param events [Array<Event>]
      # @return [void]
      # @raise [Rejected] when a value is not of its column's kind
      # @raise [SystemCallError] when the files cannot be written
      def deliver(events)
        @is_clean ||= @files.clean
        reasons = {}
        events.uniq(&:raw_id).group_by { |event| event.accepted_ms / HOUR_MS }.each do |hour, of_hour|
          rows = of_hour.filter_map { |event| (values = values(event, reasons)) && [event, values] }
          put(hour, rows) if rows.any?
        end
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
        [["stream", :text, events.map(&:stream)], ["accepted_at", :time, events.map(&:accepted_ms)],
         ["data", :json, events.map { |event| event.bytes if event.json? }], ["bytes", :bytes, events.map { |event| event.bytes unless event.json? }]]
      end

      def values(event, reasons)
        given = @row.call(event)
        @columns.each_with_index.map { |column, index| column.cast(given[index]) }
      rescue ParquetColumn::Misfit => e
        reasons[event.id] = e.message
        nil
      end
    end
  end
end

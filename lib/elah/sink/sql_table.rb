# frozen_string_literal: true

module Elah
  class Sink
    # A destination: a table of PostgreSQL, MySQL or MariaDB. Its primary key is the ID of an event, so a repeated event is stored once. A batch is
    # one transaction.
    class SQLTable
      # Numbers of rows in a statement. They are few, so that each connection prepares few statements.
      ROWS = [128, 16, 1].freeze
      NAME = /\A[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)?\z/.freeze
      COLUMNS = %w[stream accepted_at data].freeze
      # Classes of SQLSTATE that concern the values of a row: failed conversions and broken constraints.
      OF_A_ROW = %w[22 23].freeze
      private_constant :ROWS, :NAME, :COLUMNS, :OF_A_ROW

      # @param sql [Elah::SQL]
      # @param table [String]
      # @param columns [Array<String>] columns that the block fills, beside `id`
      # @yieldparam event [Event]
      # @yieldreturn [Array] the values of `columns`; the default is `stream`, `accepted_at` and `data`, the event's JSON
      # @raise [Elah::OptionError] when a name is invalid
      def initialize(sql, table, columns: COLUMNS, &row)
        bad = [table, *columns].find { |name| !NAME.match?(name) }
        raise OptionError, "#{bad.inspect} is not a name of a table or a column." if bad

        @sql = sql
        @table = table
        @columns = ["id", *columns]
        @row = row || ->(event) { [event.stream, event.accepted_at, event.bytes] }
      end

      # Creates the table unless it exists, with the columns that a sink without a block fills.
      #
      # @return [self]
      def create
        id, time, json = @sql.postgres? ? %w[uuid timestamptz jsonb] : ["char(36) CHARACTER SET ascii", "datetime(3)", "longtext"]
        @sql.execute("CREATE TABLE IF NOT EXISTS #{@table} (id #{id} PRIMARY KEY, stream varchar(255) NOT NULL, " \
                     "accepted_at #{time} NOT NULL, data #{json} NOT NULL)")
        self
      end

      # @param events [Array<Event>]
      # @return [void]
      def deliver(events)
        rows = events.uniq(&:id).map { |event| [event.id, *@row.call(event)] }
        @sql.transaction do |tx|
          until rows.empty?
            size = ROWS.find { |count| count <= rows.size }
            tx.execute(statement(size), *rows.shift(size).flatten(1))
          end
        end
      end

      # @param error [Exception]
      # @return [Boolean] whether the server or the table caused the error, and not an event
      def passing?(error)
        error.is_a?(::Elah::SQL::Error) && !OF_A_ROW.include?(error.sqlstate.to_s[0, 2])
      end

      private

      # A clause that leaves an existing row unchanged, and still refuses values that do not fit. INSERT IGNORE would truncate those.
      def statement(rows)
        @statements ||= {}
        @statements[rows] ||= begin
          values = Array.new(rows, "(#{Array.new(@columns.size, '?').join(', ')})").join(", ")
          insert = "INSERT INTO #{@table} (#{@columns.join(', ')}) VALUES #{values}"
          @sql.postgres? ? "#{insert} ON CONFLICT (id) DO NOTHING" : "#{insert} ON DUPLICATE KEY UPDATE id = id"
        end
      end
    end
  end
end

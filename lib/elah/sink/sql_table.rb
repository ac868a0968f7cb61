# frozen_string_literal: true

module Elah
  class Sink
    # A table of PostgreSQL, MySQL or MariaDB as a destination. Its primary key is the id of an event, so that one that comes twice is there
    # once. A batch is one transaction.
    class SQLTable
      # Rows of one statement: few different statements, so that each connection prepares them once.
      ROWS = [128, 16, 1].freeze
      NAME = /\A[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)?\z/.freeze
      COLUMNS = %w[stream accepted_at data].freeze
      # Classes of SQLSTATE that speak of the values of a row: what cannot be converted, and what breaks a constraint.
      OF_A_ROW = %w[22 23].freeze
      private_constant :ROWS, :NAME, :COLUMNS, :OF_A_ROW

      # @param sql [Elah::SQL]
      # @param table [String]
      # @param columns [Array<String>] what the block gives, beside `id`
      # @yieldparam event [Event]
      # @yieldreturn [Array] the values of `columns`; without a block they are `stream`, `accepted_at` and `data`, the event's JSON
      # @raise [Elah::OptionError] when a name is no name
      def initialize(sql, table, columns: COLUMNS, &row)
        bad = [table, *columns].find { |name| !NAME.match?(name) }
        raise OptionError, "#{bad.inspect} is no name of a table or a column." if bad

        @sql = sql
        @table = table
        @columns = ["id", *columns]
        @row = row || ->(event) { [event.stream, event.accepted_at, event.bytes] }
      end

      # Makes the table unless it is there, with the columns that a sink without a block fills.
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
      # @return [Boolean] whether the server or the table, and not an event, is to blame
      def passing?(error)
        error.is_a?(::Elah::SQL::Error) && !OF_A_ROW.include?(error.sqlstate.to_s[0, 2])
      end

      private

      # Words that leave a row as it is, and still refuse one that the table cannot hold, which INSERT IGNORE would cut to fit.
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

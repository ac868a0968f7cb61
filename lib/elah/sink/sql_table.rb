# frozen_string_literal: true

module Elah
  class Sink
    # A destination: a table of PostgreSQL, MySQL or MariaDB. Its primary key is the ID of an event, so a repeated event is stored once. A batch is
    # one transaction.
    class SQLTable
      # Numbers of rows in a statement. They are few, so that each connection prepares few statements.
      ROWS = [128, 16, 1].freeze
      PART = /[a-zA-Z_]\w*|"[a-zA-Z_]\w*"/.freeze
      NAME = /\A(?:#{PART})(?:\.(?:#{PART}))?\z/.freeze
      COLUMNS = %w[stream accepted_at data].freeze
      # Of MySQL and MariaDB, whose databases may have another by default, in which not every text can be stored.
      UTF8 = "CHARACTER SET utf8mb4"
      # SQLSTATE of PostgreSQL, whose IF NOT EXISTS fails while another process creates the table.
      CREATED_MEANWHILE = %w[23505 42710].freeze
      CREATIONS_MAX = 5
      # Classes of SQLSTATE that do not concern a row: connection, access, schema, transactions, locks, resources, the server's own state. Triggers
      # may use any other.
      OF_THE_SERVER = %w[08 0A 0L 0P 25 26 28 2D 34 3B 3D 3F 40 42 53 55 57 58 70 72 F0 HV HY XA XX].freeze
      # Numbers of MySQL and MariaDB that concern a row in spite of their SQLSTATE: it is too large, lacks a value, has a wrong one, or fits no
      # partition, view or CHECK.
      OF_A_ROW = [1118, 1364, 1366, 1369, 1526, 3819].freeze
      private_constant :ROWS, :PART, :NAME, :COLUMNS, :UTF8, :CREATED_MEANWHILE, :CREATIONS_MAX, :OF_THE_SERVER, :OF_A_ROW

      # @param sql [Elah::SQL]
      # @param table [String] a name of letters, digits and underscores, or `schema.table`; PostgreSQL reads it in lower case unless it is in double
      #   quotes
      # @param columns [Array<String>] columns that the block fills, beside `id`, named as the table
      # @yieldparam event [Event]
      # @yieldreturn [Array] the values of `columns`; the default is `stream`, `accepted_at` and `data`, the event's JSON
      # @raise [Elah::OptionError] when a name is invalid
      def initialize(sql, table, columns: COLUMNS, &row)
        bad = [table, *columns].reject { |name| NAME.match?(name) }
        raise OptionError, "#{bad.first.inspect} is not a name of a table or a column." unless bad.empty?

        @sql = sql
        @table = quoted(table)
        @columns = ["id", *columns]
        @row = row || ->(event) { [event.stream, event.accepted_at, event.bytes] }
      end

      # Creates the table unless it exists, with the columns that a sink without a block fills.
      #
      # @return [self]
      def create
        attempts ||= 0
        id, time, json, text = @sql.postgres? ? %w[uuid timestamptz jsonb] : ["char(36) CHARACTER SET ascii", "datetime(3)", "longtext", UTF8]
        @sql.execute("CREATE TABLE IF NOT EXISTS #{@table} (id #{id} PRIMARY KEY, stream varchar(255) #{text} NOT NULL, " \
                     "accepted_at #{time} NOT NULL, data #{json} #{text} NOT NULL)")
        self
      rescue ::Elah::SQL::Error => e
        CREATED_MEANWHILE.include?(e.sqlstate) && (attempts += 1) < CREATIONS_MAX ? retry : raise
      end

      # @param events [Array<Event>]
      # @return [void]
      def deliver(events)
        rows = events.uniq(&:id).map { |event| row_of(event) }
        insert(rows)
      rescue ::Elah::SQL::UniqueViolation
        stored = stored_ids(rows)
        raise if stored.empty? # so another unique key is taken

        insert(rows.reject { |id, *| stored[id] })
      end

      # @param error [Exception]
      # @return [Boolean] whether the server or the table caused the error, and not an event
      def passing?(error)
        return false unless error.is_a?(::Elah::SQL::Error)
        # Without a state the call is invalid, such as a statement that is too large for the server.
        return error.is_a?(::Elah::SQL::Closed) unless error.sqlstate

        OF_THE_SERVER.include?(error.sqlstate[0, 2]) && !OF_A_ROW.include?(error.number)
      end

      private

      # Quoted, a name may be a reserved word. PostgreSQL makes names that are not quoted lower case.
      def quoted(name)
        parts = name.to_s.scan(PART)
        return parts.map { |part| "`#{part.delete('"')}`" }.join(".") unless @sql.postgres?

        parts.map { |part| part.start_with?('"') ? part : %("#{part.downcase}") }.join(".")
      end

      # @raise [ArgumentError] when values are missing or left over: they would shift into the rows of other events
      def row_of(event)
        row = [event.id, *event.map_with(@row)]
        return row if row.size == @columns.size

        raise ArgumentError, "The row has #{row.size - 1} values for the #{@columns.size - 1} columns #{@columns.drop(1).join(', ')}."
      end

      def insert(rows)
        @sql.transaction do |tx|
          rows = rows.dup
          until rows.empty?
            size = ROWS.find { |count| count <= rows.size }
            tx.execute(statement(size), *rows.shift(size).flatten(1))
          end
        end
      end

      # @return [Hash{String=>true}]
      def stored_ids(rows)
        rows.each_slice(ROWS.first).with_object({}) do |slice, stored|
          marks = (["?"] * slice.size).join(", ")
          @sql.rows("SELECT id FROM #{@table} WHERE id IN (#{marks})", *slice.map(&:first)).each { |(id)| stored[id] = true }
        end
      end

      # MySQL has no clause that ignores an existing ID alone: ON DUPLICATE KEY and INSERT IGNORE would drop an event that another unique key
      # refuses.
      def statement(rows)
        @statements ||= {}
        @statements[rows] ||= begin
          values = Array.new(rows, "(#{Array.new(@columns.size, '?').join(', ')})").join(", ")
          insert = "INSERT INTO #{@table} (#{@columns.map { |name| quoted(name) }.join(', ')}) VALUES #{values}"
          @sql.postgres? ? "#{insert} ON CONFLICT (id) DO NOTHING" : insert
        end
      end
    end
  end
end

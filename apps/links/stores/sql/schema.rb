# frozen_string_literal: true

module Links
  module Stores
    class SQL
      # The tables, and the differences between PostgreSQL and MySQL. Values from clients are bytes, and are compared and ordered
      # as bytes.
      class Schema
        BYTES = { postgres: "bytea", mysql: "VARBINARY(255)" }.freeze
        # 64 characters, of four bytes each.
        TAG = { postgres: "bytea", mysql: "VARBINARY(256)" }.freeze
        BLOB = { postgres: "bytea", mysql: "MEDIUMBLOB" }.freeze
        # The name of the lock in the database.
        LOCK = 0x1145

        # @param sql [Elah::SQL]
        def initialize(sql)
          @sql = sql
          @engine = sql.postgres? ? :postgres : :mysql
        end

        # Creates missing tables. Several processes may do so at once. On PostgreSQL they take turns, because IF NOT EXISTS does
        # not see a table that another process is creating.
        def create
          return make(@sql) unless postgres?

          @sql.transaction do |tx|
            tx.execute("SELECT pg_advisory_xact_lock(?)", LOCK)
            make(tx)
          end
        end

        # @param table [String]
        # @param columns [Array<String>]
        # @return [String] a statement that inserts a row unless its key is there
        def insert(table, *columns)
          values = "#{table} (#{columns.join(', ')}) VALUES (#{(['?'] * columns.size).join(', ')})"
          postgres? ? "INSERT INTO #{values} ON CONFLICT DO NOTHING" : "INSERT IGNORE INTO #{values}"
        end

        private

        def postgres? = @engine == :postgres

        def make(sql)
          tables.each { |name, columns| sql.execute("CREATE TABLE IF NOT EXISTS #{name} (#{columns.join(', ')})") }
          create_indexes(sql) if postgres?
          sql.execute(insert("numbers", "name", "next"), "codes", 0)
        end

        def tables
          bytes = "#{BYTES[@engine]} NOT NULL"
          {
            "links" => ["code #{bytes} PRIMARY KEY", "redirect #{BLOB[@engine]} NOT NULL", "details #{BLOB[@engine]} NOT NULL",
                        "created_at bigint NOT NULL", *index("links_newest", "created_at, code")],
            "visits" => ["code #{bytes} PRIMARY KEY", "visits bigint NOT NULL"],
            "tagged" => ["tag #{TAG[@engine]} NOT NULL", "created_at bigint NOT NULL", "code #{bytes}", "PRIMARY KEY (tag, created_at, code)"],
            "targets" => ["fingerprint #{bytes} PRIMARY KEY", "code #{bytes}"],
            "requests" => ["request_key #{bytes} PRIMARY KEY", "kept #{BLOB[@engine]} NOT NULL", "expires_at bigint NOT NULL",
                           *index("requests_expiry", "expires_at")],
            "service" => ["name varchar(64) PRIMARY KEY", "value #{bytes}"],
            "numbers" => ["name varchar(64) PRIMARY KEY", "next bigint NOT NULL"]
          }
        end

        def index(name, columns) = postgres? ? [] : ["INDEX #{name} (#{columns})"]

        def create_indexes(sql)
          sql.execute("CREATE INDEX IF NOT EXISTS links_newest ON links (created_at, code)")
          sql.execute("CREATE INDEX IF NOT EXISTS requests_expiry ON requests (expires_at)")
        end
      end
    end
  end
end

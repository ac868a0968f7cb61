# frozen_string_literal: true

module Items
  module Stores
    class SQL
      # The tables of the items, and the differences between PostgreSQL and MariaDB:
      #
      #     items       position (the primary key: a draw reads one row by it), id, uuid, document
      #     item_tags   tag, position within the tag, item_id
      #     item_totals scope => number: the items of a tag, of all ("") and other counts, under names that no tag has
      module Tables
        NEXT_ID = "#next_id"
        LOADED = "#loaded"

        POSTGRESQL = [
          "CREATE TABLE IF NOT EXISTS items (position BIGINT PRIMARY KEY, id BIGINT NOT NULL UNIQUE, uuid TEXT COLLATE \"C\" NOT NULL UNIQUE, " \
          "document TEXT NOT NULL)",
          "CREATE TABLE IF NOT EXISTS item_tags (tag TEXT COLLATE \"C\" NOT NULL, position BIGINT NOT NULL, item_id BIGINT NOT NULL, " \
          "PRIMARY KEY (tag, position), UNIQUE (tag, item_id))",
          "CREATE TABLE IF NOT EXISTS item_totals (scope TEXT COLLATE \"C\" PRIMARY KEY, total BIGINT NOT NULL)"
        ].freeze

        MYSQL = [
          "CREATE TABLE IF NOT EXISTS items (position BIGINT PRIMARY KEY, id BIGINT NOT NULL UNIQUE, " \
          "uuid CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL UNIQUE, document MEDIUMTEXT NOT NULL) " \
          "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
          "CREATE TABLE IF NOT EXISTS item_tags (tag VARCHAR(64) NOT NULL, position BIGINT NOT NULL, item_id BIGINT NOT NULL, " \
          "PRIMARY KEY (tag, position), UNIQUE (tag, item_id)) ENGINE=InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin",
          "CREATE TABLE IF NOT EXISTS item_totals (scope VARCHAR(64) PRIMARY KEY, total BIGINT NOT NULL) " \
          "ENGINE=InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin"
        ].freeze

        HAS_TOTALS = "SELECT 1 FROM item_totals WHERE scope = '#next_id'"
        FIRST_TOTALS = "INSERT INTO item_totals VALUES ('', 0), ('#next_id', 1), ('#loaded', 0)"

        # Locks nothing where all is there, so that a worker starts while others write.
        #
        # @param sql [#postgres?, #execute, #value] an Elah::SQL, for example
        def self.create(sql)
          attempts ||= 0
          (sql.postgres? ? POSTGRESQL : MYSQL).each { |statement| sql.execute(statement) }
          sql.execute(FIRST_TOTALS) unless sql.value(HAS_TOTALS)
        rescue Elah::SQL::Error
          # Processes that create the same table, type or row at the same moment meet errors of several classes.
          (attempts += 1) < 5 ? retry : raise
        end

        # @param postgres [Boolean]
        # @return [String] takes a scope and a number
        def self.put_total(postgres)
          conflict = postgres ? "ON CONFLICT (scope) DO UPDATE SET total = EXCLUDED.total" : "ON DUPLICATE KEY UPDATE total = VALUES(total)"
          "INSERT INTO item_totals (scope, total) VALUES (?, ?) #{conflict}"
        end
      end
    end
  end
end

# frozen_string_literal: true

# SQLite under ActiveRecord 6.1 as Rails 8 sets it up: what a commit acknowledged outlives the process, and readers do not wait for writers.
require "active_record"
require "active_record/connection_adapters/sqlite3_adapter"

module SQLite
  module Pragmas
    private

    def configure_connection
      super
      execute("PRAGMA journal_mode = WAL")
      execute("PRAGMA synchronous = NORMAL")
      execute("PRAGMA mmap_size = 134217728")
    end
  end
  ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(Pragmas)

  TEXT = ActiveRecord::Type::String.new

  module_function

  # @param file [String]
  # @param threads [Integer] that will use it, each with a connection of its own
  def open(file, threads)
    # The main thread has one too.
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: file, pool: threads + 1, timeout: 5000)
  end

  # @return [Array<Hash>] of a prepared statement with texts in its places
  def rows(statement, *texts)
    binds = texts.map { |text| ActiveRecord::Relation::QueryAttribute.new("text", text, TEXT) }
    ActiveRecord::Base.connection.exec_query(statement, "SQL", binds, prepare: true).to_a
  end
end

# frozen_string_literal: true

# SQLite under ActiveRecord 6.1 as Rails 8 sets it up: what a commit acknowledged outlives the process, and readers do not wait for writers.
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
end

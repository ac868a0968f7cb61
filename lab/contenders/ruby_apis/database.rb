# frozen_string_literal: true

# The database under ActiveRecord: the server that STORE names, or SQLite in the contender's own process.
require "active_record"
require "monitor"

module Database
  # SQLite has one writer at a time. Threads wait here: in its busy loop they would hold the interpreter, for which the writer waits. A server has
  # locks of its own.
  WRITING = Monitor.new
  TYPES = { String => ActiveRecord::Type::String.new, Integer => ActiveRecord::Type::BigInteger.new }.freeze

  module_function

  # @param folder [String] of SQLite's file
  # @param name [String] of that file
  # @param threads [Integer] that will use it, each with a connection of its own
  # @yield in ActiveRecord::Schema: makes the tables, unless it has some
  def open(folder, name, threads, &schema)
    # The main thread has a connection too.
    ActiveRecord::Base.establish_connection(**settings(folder, name), pool: threads + 1)
    ActiveRecord::Schema.verbose = false
    ActiveRecord::Schema.define(&schema) if ActiveRecord::Base.connection.tables.empty?
  end

  def settings(folder, name)
    store = ENV.fetch("STORE", "")
    return { url: store.sub(/\Amysql:/, "mysql2:"), prepared_statements: true } unless store.empty?

    require_relative "sqlite"
    { adapter: "sqlite3", database: File.expand_path("#{name}.sqlite3", folder), timeout: 5000 }
  end

  # @yield what is one statement that writes
  def exclusively(&block) = ActiveRecord::Base.connection.adapter_name == "SQLite" ? WRITING.synchronize(&block) : yield

  # @yield in a transaction that writes
  def write(&block) = exclusively { ActiveRecord::Base.transaction(&block) }

  # @param statement [String] with a question mark for each value
  # @param values [Array<String, Integer>]
  # @return [Array<Hash>] of the statement, which is prepared once
  def rows(statement, *values)
    binds = values.map { |value| ActiveRecord::Relation::QueryAttribute.new("value", value, TYPES.fetch(value.class)) }
    ActiveRecord::Base.connection.exec_query(numbered(statement), "SQL", binds, prepare: true).to_a
  end

  # PostgreSQL counts its places.
  def numbered(statement)
    return statement unless ActiveRecord::Base.connection.adapter_name == "PostgreSQL"

    (@numbered ||= {})[statement] ||= begin
      place = 0
      statement.gsub("?") { "$#{place += 1}" }
    end
  end
end

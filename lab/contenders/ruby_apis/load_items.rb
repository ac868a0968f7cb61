# frozen_string_literal: true

# Fills the store of items.rb with the documents of a file, one in a line, as so many requests would: `ruby load_items.rb FILE FOLDER STORE`, of which
# the last two are as for the servers. A database server filled so is as good for the contenders in Go and JavaScript, which have the same tables.
require_relative "items"

ROWS_PER_STATEMENT = 500
# SQLite would keep two megabytes of its indexes in memory.
SQLITE_CACHE = "PRAGMA cache_size = -2000000"

file, folder, store = ARGV
ENV["STORE"] = store
Items.open(folder, 1)
if store.start_with?("mongodb:")
  Items.store.load(File.foreach(file, chomp: true))
  exit
end

connection = ActiveRecord::Base.connection
connection.execute(SQLITE_CACHE) if connection.adapter_name == "SQLite"

insert = ->(table, columns, rows) { connection.execute("INSERT INTO #{table} (#{columns}) VALUES #{rows.join(',')}") }
# What an item's document says, without reading all of it.
id = ->(document) { document[/\d+/] }
uuid = ->(document) { document[/"uuid":"([\h-]{36})"/, 1] }
tags = ->(document) { document[document.rindex('"tags":[')..].scan(/"([\w.:-]+)"(?!:)/).flatten }

totals = Hash.new(0)
Database.write do
  File.foreach(file, chomp: true).each_slice(ROWS_PER_STATEMENT) do |documents|
    items = documents.map { |document| "(#{id.call(document)},'#{uuid.call(document)}',#{connection.quote(document)})" }
    insert.call("items", "id, uuid, document", items)
    places = documents.flat_map do |document|
      [Items::ALL, *tags.call(document)].map { |scope| "('#{scope}',#{(totals[scope] += 1) - 1},#{id.call(document)})" }
    end
    insert.call("places", "scope, position, item_id", places)
  end
  insert.call("scopes", "name, total", totals.map { |scope, total| "('#{scope}',#{total})" })
end
connection.reset_pk_sequence!("items") if connection.adapter_name == "PostgreSQL"
# Until then PostgreSQL reads its tables once more in the background.
connection.execute(connection.adapter_name == "Mysql2" ? "ANALYZE TABLE items, places" : "ANALYZE")

# frozen_string_literal: true

module Bench
  # Owns how a database server gets many times the items that the loader of apps/items has put there: it copies them itself, each copy
  # with an id, a uuid, positions and a document of its own, in a tenth of the time that sending them takes.
  class MultipliedItems
    # How long one of its statements may take.
    STATEMENT_SECONDS = 3600

    # What the servers call differently: the uuid of a copy, whose first digit is another.
    UUID = {
      true => "to_hex(((('x' || left(uuid, 1))::bit(4)::int + c) %% 16)) || substr(uuid, 2)",
      false => "concat(lower(conv((conv(left(uuid, 1), 16, 10) + c) %% 16, 10, 16)), substr(convert(uuid USING utf8mb4), 2)) COLLATE utf8mb4_bin"
    }.freeze
    COPY_ITEMS = <<~SQL
      INSERT INTO items (position, id, uuid, document)
      SELECT position + c * %<rows>d, id + c * %<rows>d, %<uuid>s,
             replace(replace(document, uuid, %<uuid>s), concat('{"id":', id, ','), concat('{"id":', id + c * %<rows>d, ','))
      FROM items CROSS JOIN (SELECT %<copy>d AS c) copies WHERE position < %<rows>d
    SQL
    COPY_TAGS = <<~SQL
      INSERT INTO item_tags (tag, position, item_id)
      SELECT tag, position + %<copy>d * total, item_id + %<copy>d * %<rows>d
      FROM item_tags JOIN item_totals ON scope = tag WHERE position < total
    SQL
    # The names of numbers that are no totals begin with #.
    COUNT = "UPDATE item_totals SET total = total * %<times>d WHERE scope NOT LIKE '#%%'"
    COUNT_LOADED = "UPDATE item_totals SET total = %<rows>d * %<times>d + CASE scope WHEN '#next_id' THEN 1 ELSE 0 END WHERE scope LIKE '#%%'"

    # @param url [String] a server with the items of the loader, none of them deleted
    # @param rows [Integer] how many those are
    # @param times [Integer] how many times as many there shall be; at most 16
    def initialize(url, rows:, times:)
      # Not before the extension is built with the clients.
      $LOAD_PATH.unshift(File.join(ROOT, "lib"))
      require "elah"
      @sql = Elah::SQL.new(url, query_seconds: STATEMENT_SECONDS)
      @values = { rows: rows, times: times }
    end

    def run
      uuid = format(UUID.fetch(@sql.postgres?))
      (1...@values[:times]).each do |copy|
        [COPY_ITEMS, COPY_TAGS].each { |statement| execute(statement, uuid: uuid, copy: copy) }
      end
      [COUNT, COUNT_LOADED].each { |statement| execute(statement) }
      # PostgreSQL reads its tables once more after they were filled; let it not be during a run.
      @sql.execute(@sql.postgres? ? "VACUUM ANALYZE" : "ANALYZE TABLE items")
    ensure
      @sql.close
    end

    private

    def execute(statement, **values) = @sql.execute(format(statement, @values.merge(values)))
  end
end

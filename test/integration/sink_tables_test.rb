# frozen_string_literal: true

require "test_helper"
require "support/sink_case"
require "support/servers"

# The tables that `SQLTable#create` creates.
class SinkTablesTest < SinkCase
  TEXT = "Grüße 日本 \u{1F600}"

  # In a database with latin1, the default of older versions, the table had latin1 too: events with other letters became
  # dead letters or, without strict mode, arrived as "??".
  def test_a_table_holds_any_text_whatever_the_character_set_of_its_database
    url = Servers::MariaDB.shared.url
    with_clients(url, url.sub(%r{/[^/?]+(\?|\z)}, '/latin\1')) do |server, sql|
      server.execute("CREATE DATABASE latin CHARACTER SET latin1")
      events = sink(to: Elah::Sink::SQLTable.new(sql, "events").create)
      events.push({ text: TEXT }, stream: TEXT)
      assert events.flush(wait_seconds: 60)
      assert_empty events.dead_letters.map(&:reason)
      assert_equal [[TEXT, { "text" => TEXT }]],
                   sql.rows("SELECT stream, data FROM events").map { |stream, data| [stream, JSON.parse(data)] }
    ensure
      server.execute("DROP DATABASE latin")
    end
  end

  # IF NOT EXISTS of PostgreSQL fails when another process has just created the table.
  def test_several_processes_create_a_table_at_once
    with_clients(*[Servers::PostgreSQL.shared.url] * 3) do |first, second, reader|
      creating = nil
      first.transaction do |tx|
        tx.execute("CREATE TABLE created_at_once (id uuid)")
        creating = Thread.new { Elah::Sink::SQLTable.new(second, "created_at_once").create }
        wait_until("the second one waits") { reader.value("SELECT count(*) FROM pg_locks WHERE NOT granted").positive? }
      end
      assert_kind_of Elah::Sink::SQLTable, creating.value
    ensure
      first.execute("DROP TABLE IF EXISTS created_at_once")
    end
  end

  # Names were written without quotes: a table "order" or a column "group" was a syntax error, and the sink stood still.
  def test_names_are_reserved_words
    on_each_server do |sql, quote|
      store_in(sql, "order", %w[group user], ["#{quote}order#{quote}", %W[#{quote}group#{quote} #{quote}user#{quote}]])
    end
  end

  # PostgreSQL's names with capital letters could not be used at all, as names in quotes were refused.
  def test_names_in_double_quotes_are_taken_as_they_are
    on_each_server do |sql, quote|
      store_in(sql, '"Visits"', ['"userId"', "plain"], ["#{quote}Visits#{quote}", ["#{quote}userId#{quote}", "plain"]])
    end
  end

  def test_other_names_are_those_that_the_server_makes_of_them
    on_each_server do |sql, _|
      store_in(sql, "Visits_2", %w[userId KIND], ["Visits_2", %w[userId KIND]])
      store_in(sql, :visits_3, %i[user_id], ["visits_3", %w[user_id]])
    end
  end

  def test_a_name_may_have_a_schema
    on_each_server do |sql, quote|
      sql.execute("CREATE SCHEMA sinks")
      store_in(sql, "sinks.Order", %w[n], ["sinks.#{quote}#{sql.postgres? ? 'order' : 'Order'}#{quote}", %w[n]])
      store_in(sql, 'sinks."Order"', %w[n], ["sinks.#{quote}Order#{quote}", %w[n]]) if sql.postgres?
      made = Elah::Sink::SQLTable.new(sql, "sinks.group").create
      events = sink("made-#{sql.postgres?}", to: made)
      events.push({ n: 1 })
      assert events.flush(wait_seconds: 60)
      assert_equal 1, sql.value("SELECT count(*) FROM sinks.#{quote}group#{quote}")
    ensure
      sql.execute("DROP SCHEMA sinks#{' CASCADE' if sql.postgres?}")
    end
  end

  def test_other_texts_are_no_names
    with_clients(Servers::PostgreSQL.shared.url, Servers::MariaDB.shared.url) do |*clients|
      ["", "a b", "a;", "a`", '"a', 'a"', '"a""b"', '"a b"', '""', "a.b.c", "a.", ".a", "a\nb", "a\n", "1a", "a-b",
       '"a"b', "a`b", nil].each do |name|
        clients.each do |sql|
          assert_raises(Elah::OptionError, name.inspect) { Elah::Sink::SQLTable.new(sql, name) }
          assert_raises(Elah::OptionError, name.inspect) { Elah::Sink::SQLTable.new(sql, "a", columns: ["b", name]) }
        end
      end
    end
  end

  private

  # @yieldparam sql [Elah::SQL]
  # @yieldparam quote [String] what the server puts around names
  def on_each_server(&block)
    { Servers::PostgreSQL => '"', Servers::MariaDB => "`" }.each do |server, quote|
      with_clients(server.shared.url) { |sql| block.call(sql, quote) }
    end
  end

  # A table whose names are those in SQL takes two events, of which one is repeated.
  def store_in(sql, name, columns, (table, names))
    sql.execute("CREATE TABLE #{table} (id char(36) PRIMARY KEY, #{names.join(' varchar(9), ')} varchar(9))")
    destination = Elah::Sink::SQLTable.new(sql, name, columns: columns) { |event| [event.data["text"]] * columns.size }
    events = sink("to-#{name}-#{sql.server}".gsub(/\W/, "-"), to: destination)
    again = events.push({ text: "a" }, durability: :delivered, wait_seconds: 60)
    events.push({ text: "b" })
    events.push({ text: "a" }, id: again.id)
    assert events.flush(wait_seconds: 60), events.health.error.to_s
    stored = sql.rows("SELECT #{names.join(', ')} FROM #{table} ORDER BY 1")
    assert_equal [["a"] * columns.size, ["b"] * columns.size], stored
    assert_empty events.dead_letters
  ensure
    sql.execute("DROP TABLE IF EXISTS #{table}")
  end

  def with_clients(*urls)
    clients = urls.map { |url| Elah::SQL.new(url, connections_max: 1) }
    yield(*clients)
  ensure
    clients.each(&:close)
  end
end

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

  private

  def with_clients(*urls)
    clients = urls.map { |url| Elah::SQL.new(url, connections_max: 1) }
    yield(*clients)
  ensure
    clients.each(&:close)
  end
end

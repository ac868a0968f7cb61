# frozen_string_literal: true

# What a Rails API does with its records, while other requests do the same: roles, the query cache, load_async.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "active_record"
require "support/rails_api"

class RailsRecordsTest < Minitest::Test
  include RailsApi

  REQUESTS = 20

  # @return [Array] what the responses say, without repetitions
  def distinct(server, targets)
    answers = RequestBurst.new(server, targets).answers
    answers.map { |answer| answer.status == 200 ? answer.json : answer.status }.uniq
  end

  # The connection of the boot was never returned, and the pool has no other.
  def test_what_the_boot_has_leased_is_returned
    serve(database: { pool: 1, checkout_timeout: 5 }) do |server|
      assert_equal [{ "widgets" => 0 }], distinct(server, ["/widgets"] * 3)
    end
  end

  # The hook runs in no task, whose end would return it.
  def test_what_a_hook_of_the_boot_has_leased_is_returned
    Dir.mktmpdir do |folder|
      config = File.join(folder, "elah.rb")
      File.write(config, "before_worker_boot { Widget.connection.select_value('SELECT 1') }")
      serve(database: { pool: 1, checkout_timeout: 5 }, config: config) do |server|
        assert_equal [{ "widgets" => 0 }], distinct(server, ["/widgets"] * 3)
      end
    end
  end

  # ActiveRecord 6.1 keeps the role with the thread: requests got the role of another.
  def test_each_request_has_the_role_that_it_asked_for
    shared_server.tap do |server|
      roles = { "reading" => ["reading", false], "writing" => ["writing", true] }
      REQUESTS.times.map { |index| roles.keys[index % 2] }.tap do |asked|
        found = RequestBurst.new(server, asked.map { |role| "/widgets/roles?role=#{role}" }).answers.map(&:json)
        expected = asked.map { |role| { "before" => "writing", "inside" => roles[role], "after" => "writing" } }
        assert_equal expected, found
      end
      assert_nothing_leaked(server)
    end
  end

  # ActiveRecord 6.1 and 7.0 have no class for it, and Rails, which goes by the class, made it a 500.
  def test_a_connection_that_is_lost_during_a_query_is_an_outage
    admin = Elah::SQL.new(Servers::PostgreSQL.shared.url)
    lose = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'SELECT 1 FROM pg_sleep(57%'"
    lost = -> { wait_until("the query runs") { admin.value(lose) == 1 } }
    assert_equal [503], RequestBurst.new(shared_server, ["/slow?seconds=57"], before_hello: lost).answers.map(&:status)
    assert_nothing_leaked(shared_server)
  ensure
    admin&.close
  end

  %w[postgresql mysql2 sqlite3].each do |adapter|
    define_method(:"test_the_query_cache_belongs_to_a_request_on_#{adapter}") do
      Dir.mktmpdir do |folder|
        database = adapter == "sqlite3" ? { file: File.join(folder, "shop.sqlite3") } : {}
        serve(adapter, database: database) do |server|
          assert_equal [%w[sent cached sent]], distinct(server, ["/widgets/cached"] * REQUESTS)
          assert_equal({ "widgets" => REQUESTS }, server.get("/widgets").json)
          assert_nothing_leaked(server)
        end
      end
    end
  end

  def test_load_async_runs_beside_the_request
    skip "ActiveRecord #{ActiveRecord.version} has no load_async." if ActiveRecord.version < Gem::Version.new("7.0")

    shared_server.tap do |server|
      5.times { assert_equal [[0, 0, 0]], distinct(server, ["/widgets/async"] * 10) }
      assert_nothing_leaked(server)
    end
  end
end

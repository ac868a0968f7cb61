# frozen_string_literal: true

# A database that is stopped, killed, silent or overrun under an app with ActiveRecord: the answers say so with a stable
# code, nobody else is held up, and the app recovers by itself.
require "test_helper"
require "support/gems"
return unless Gems.present?("grape", "activerecord", "pg", "mysql2")

require "support/patience"
require "support/records_case"

class ActiveRecordBadDaysTest < Minitest::Test
  include Patience
  helpers = RecordsCase.instance_methods(false).grep_v(/\Atest_/)
  include Module.new { helpers.each { |name| define_method(name, RecordsCase.instance_method(name)) } }

  APP = File.expand_path("../support/apps/grape_records.ru", __dir__)
  POOL = 5
  HELLO_SECONDS = 2

  RecordsCase::DATABASES.each do |adapter, database_class|
    define_method(:"test_#{adapter}_has_bad_days") do
      database_class.start do |database|
        serve(adapter, server: database, database: { pool: POOL, checkout_timeout: 0.5 },
                       request_seconds: 5) do |server|
          stop_and_start(server, database)
          kill_and_start(server, database)
          pause_and_resume(server, database)
          overrun(server)
        end
      end
    end
  end

  def stop_and_start(server, database)
    assert_served(server)
    database.stop
    assert_refused(server, [503], %w[pool_exhausted store_unavailable])
    database.start
    assert_served(server)
  end

  # Those who wait for an answer lose their connection.
  def kill_and_start(server, database)
    burst = RequestBurst.new(server, ["/slow?seconds=30"] * POOL,
                             before_hello: -> { await_queries(server) && database.kill })
    assert_equal [503], burst.statuses.keys
    assert_equal ["store_unavailable"], burst.codes
    database.start
    assert_served(server)
  end

  def pause_and_resume(server, database)
    database.pause
    assert_refused(server, [503, 504], %w[deadline_exceeded pool_exhausted store_unavailable])
    database.resume
    assert_served(server)
  end

  # More requests than the pool can serve in its time.
  def overrun(server)
    burst = RequestBurst.new(server, ["/slow?seconds=3"] * POOL * 4)
    assert_equal({ 200 => POOL, 503 => POOL * 3 }, burst.statuses)
    assert_equal ["pool_exhausted"],
                 burst.answers.select { |answer| answer.status == 503 }.map { |answer| answer.json["code"] }.uniq
    assert_nothing_leaked(server)
  end

  def await_queries(server)
    nil until server.get("/pool").json["busy"] == POOL
    true
  end

  def assert_refused(server, statuses, codes)
    burst = RequestBurst.new(server, ["/widgets"] * POOL * 2)
    assert_empty burst.statuses.keys - statuses
    assert_empty burst.codes - codes
    assert_operator burst.usual_hello_seconds, :<, HELLO_SECONDS
  end

  # All at once, though a database that is just back may need a while for so many new connections.
  def assert_served(server)
    assert_nothing_leaked(server)
    wait_until("all are served") { RequestBurst.new(server, ["/widgets"] * POOL).statuses == { 200 => POOL } }
  end
end

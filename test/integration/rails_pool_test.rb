# frozen_string_literal: true

# A Rails API whose requests hold all connections of the pool: the others wait for `checkout_timeout` and get
# 503 or the app's own response. Whatever ends a request that waits, the pool works afterwards.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "active_record"
require "support/rails_api"

class RailsPoolTest < Minitest::Test
  include RailsApi

  POOL = 2
  CHECKOUT_SECONDS = 1
  # Queries that end when the test has seen enough, on a busy machine too.
  HELD_SECONDS = 20

  RecordsCase::DATABASES.each_key do |adapter|
    define_method(:"test_a_pool_of_#{adapter}_in_which_all_is_in_use") do
      with_pool(adapter, checkout_timeout: CHECKOUT_SECONDS) do |server|
        waiting_requests_are_refused(server)
        the_app_sends_a_response_of_its_own(server)
        requests_that_need_two_connections_end(server)
        threads_are_refused_too(server)
      end
    end

    define_method(:"test_clients_leave_the_queue_of_a_pool_of_#{adapter}") do
      with_pool(adapter, checkout_timeout: 600, cancel_gone: "safe") do |server|
        those_who_stay_are_served(server)
        those_who_leave_are_forgotten(server)
      end
    end

    define_method(:"test_the_deadline_ends_a_request_that_waits_for_a_connection_of_#{adapter}") do
      with_pool(adapter, checkout_timeout: 600, request_seconds: 2) do |server|
        burst = RequestBurst.new(server, ["/slow?seconds=#{HELD_SECONDS}"] * POOL * 3)
        assert_equal({ 504 => POOL * 3 }, burst.statuses)
        assert_pool_works(server)
      end
    end
  end

  private

  def with_pool(adapter, checkout_timeout:, **options)
    Dir.mktmpdir do |folder|
      @log = File.join(folder, "rails.log")
      database = { pool: POOL, checkout_timeout: checkout_timeout }
      serve(adapter, database: database, env: { "LOG_FILE" => @log }, **options) do |server|
        # The first request asks for the columns of the table, and others wait for its reply instead of the pool.
        server.get("/widgets")
        yield server
      end
    end
  end

  # Lets as many requests as there are connections hold them while the block runs, and drops them.
  def while_all_are_held(server)
    holders = Array.new(POOL) { send_get(server, "/slow?seconds=#{HELD_SECONDS}") }
    wait_until("all connections are held") { stat(server)["busy"] == POOL }
    yield
    assert_equal POOL, stat(server)["busy"], "the queries still run"
  ensure
    holders.each { |client| leave(client) }
    assert_pool_works(server)
  end

  def send_get(server, target) = server.connect.write("GET #{target} HTTP/1.1\r\nHost: test.example\r\n\r\n")

  # Breaks the connection off, where `close` would only say goodbye.
  def leave(client)
    client.socket.setsockopt(Socket::Option.linger(true, 0))
    client.close
  end

  def stat(server) = server.get("/pool").json

  # All connections are of use, and one after the other as well.
  def assert_pool_works(server)
    assert_nothing_leaked(server)
    assert_operator stat(server)["connections"], :<=, POOL
    wait_until("all are served") { RequestBurst.new(server, ["/widgets"] * POOL).statuses == { 200 => POOL } }
    POOL.times { assert_equal 200, server.get("/widgets").status }
    assert_nothing_leaked(server)
  end

  def waiting_requests_are_refused(server)
    while_all_are_held(server) do
      burst = RequestBurst.new(server, ["/widgets"] * POOL * 3)
      assert_equal({ 503 => POOL * 3 }, burst.statuses)
      assert_operator burst.seconds, :>=, CHECKOUT_SECONDS
    end
    assert_includes File.read(@log), "ActiveRecord::ConnectionTimeoutError"
  end

  def the_app_sends_a_response_of_its_own(server)
    while_all_are_held(server) do
      answer = server.get("/patient")
      assert_equal [429, "5", { "busy" => true }], [answer.status, answer["Retry-After"], answer.json]
    end
  end

  # Each holds one, and all wait for another. The first that gives up may leave its own in time for the next.
  def requests_that_need_two_connections_end(server)
    burst = RequestBurst.new(server, ["/two"] * POOL)
    assert_includes burst.statuses, 503
    assert_empty burst.statuses.keys - [200, 503]
    assert_pool_works(server)
    assert_equal 200, server.get("/two").status
    assert_pool_works(server)
  end

  # An action of Live asks for a connection in a thread of its own.
  def threads_are_refused_too(server)
    while_all_are_held(server) { server.get("/live") }
    wait_until("the action has ended") { server.get("/live/running").body == "0" }
    assert_match(/number/, server.get("/live").body)
    assert_pool_works(server)
  end

  def those_who_stay_are_served(server)
    clients = nil
    while_all_are_held(server) { clients = await_turn(server) }
    clients.each { |client| assert_equal 200, client.read_answer.status }
    assert_equal({ 200 => POOL * 20 }, RequestBurst.new(server, ["/slow?seconds=0.02"] * POOL * 20).statuses)
  end

  def those_who_leave_are_forgotten(server)
    while_all_are_held(server) do
      await_turn(server).each { |client| leave(client) }
      wait_until("nobody waits") { stat(server)["waiting"].zero? }
    end
  end

  def await_turn(server)
    clients = Array.new(POOL * 3) { send_get(server, "/widgets") }
    wait_until("they wait") { stat(server)["waiting"] == clients.size }
    clients
  end
end

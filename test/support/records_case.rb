# frozen_string_literal: true

require "support/elah_server"
require "support/patience"
require "support/request_burst"
require "support/servers"

# Owns what every framework's app with ActiveRecord has to stand: the same tests for each app, on PostgreSQL and on
# MariaDB. A test class includes it and names its app.
module RecordsCase
  include Patience

  DATABASES = { "postgresql" => Servers::PostgreSQL, "mysql2" => Servers::MariaDB }.freeze
  POOL = 50
  HELLO_SECONDS = 0.15
  ROUNDS = 12
  # One after the other the two hundred take 40 s.
  MOST_SECONDS = 30
  # A busy machine takes its time for fifty new connections.
  CHECKOUT_SECONDS = 60

  # @return [String] of the app, on a database
  def self.url(adapter, server, **options)
    query = options.map { |name, value| "#{name}=#{value}" }.join("&")
    "#{server.url.sub(/\A\w+/, adapter)}?#{query}"
  end

  # @param adapter [String]
  # @param database [Hash] options of ActiveRecord
  # @param options [Hash] of Elah
  # @yieldparam server [ElahServer]
  def serve(adapter, server: DATABASES.fetch(adapter).shared, database: {}, **options, &block)
    url = RecordsCase.url(adapter, server, pool: POOL, checkout_timeout: CHECKOUT_SECONDS, **database)
    env = { "DATABASE_URL" => url, "CREATE_TABLES" => "1" }
    ElahServer.start(self.class::APP, env: env, **options, &block)
  end

  # The connections come back when the last answer has left, a moment after it was read. One of a request that was
  # broken off is replaced first, and meanwhile nothing is in use though others wait.
  def assert_nothing_leaked(server, busy: 0)
    wait_until("all connections are back") do
      stat = server.get("/pool").json
      stat["busy"] <= busy && stat["waiting"].zero?
    end
  end

  DATABASES.each_key do |adapter|
    define_method(:"test_two_hundred_requests_wait_for_#{adapter}_and_nobody_else_does") do
      serve(adapter) do |server|
        bursts = []
        quick = ->(burst) { burst.usual_hello_seconds < HELLO_SECONDS && burst.seconds < MOST_SECONDS }
        until bursts.any?(&quick) || bursts.size == ROUNDS
          bursts << RequestBurst.new(server, ["/slow"] * 200, hellos: 15)
          assert_equal({ 200 => 200 }, bursts.last.statuses)
        end
        assert_operator bursts.map(&:usual_hello_seconds).min, :<, HELLO_SECONDS
        assert_operator bursts.map(&:seconds).min, :<, MOST_SECONDS, "many connections are used at once"
        assert_nothing_leaked(server)
      end
    end

    define_method(:"test_transactions_on_#{adapter}_are_apart") do
      serve(adapter) do |server|
        targets = Array.new(40) { |index| "/widgets/create?name=w#{index}#{'&fail=1' if index.odd?}" }
        burst = RequestBurst.new(server, targets)
        assert_equal [{ "open" => 0 }], burst.answers.map(&:json).uniq
        assert_equal({ "widgets" => 40 }, server.get("/widgets").json)
        assert_nothing_leaked(server)
      end
    end

    define_method(:"test_a_request_past_its_deadline_gives_its_connection_to_#{adapter}_back") do
      serve(adapter, database: { pool: 5 }, request_seconds: 6) do |server|
        assert_equal({ 504 => 5 }, RequestBurst.new(server, ["/slow?seconds=30"] * 5).statuses)
        assert_equal({ 200 => 5 }, RequestBurst.new(server, ["/widgets"] * 5).statuses)
        assert_nothing_leaked(server)
      end
    end

    define_method(:"test_a_client_that_has_gone_gives_its_connection_to_#{adapter}_back") do
      serve(adapter, database: { pool: 5 }, cancel_gone: "safe") do |server|
        clients = Array.new(5) { server.connect.write("GET /slow?seconds=30 HTTP/1.1\r\nHost: test.example\r\n\r\n") }
        nil until server.get("/pool").json["busy"] == 5
        clients.each { |client| reset(client) }
        assert_nothing_leaked(server)
        assert_equal({ 200 => 5 }, RequestBurst.new(server, ["/widgets"] * 5).statuses)
      end
    end
  end

  # Breaks the connection off, where `close` would only say goodbye.
  def reset(client)
    client.socket.setsockopt(Socket::Option.linger(true, 0))
    client.close
  end
end

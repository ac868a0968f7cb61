# frozen_string_literal: true

require_relative "../support/sql_case"
require_relative "../support/elah_server"
require "uri"

# A database behind a served API: what its clients are answered on good days and on bad ones.
module SQLServing
  APP = <<~RUBY
    SQL = Elah::SQL.new(ENV.fetch("DATABASE"), connections_max: 2, query_seconds: 60)

    class Shop < Elah::API
      format :json
      error_format :problem

      get(:free) { "free" }
      get(:status) { SQL.status }

      namespace :db do
        behind SQL, queue_seconds: 60
        get(:one) { SQL.value("SELECT 1") }
        get(:wrong) { SQL.value("SELECT nothing") }
        get(:sleep) do
          SQL.transaction do |tx|
            tx.execute("INSERT INTO things (name) VALUES (?)", params[:name])
            tx.query(params[:statement])
          end
        end
      end
    end

    run Shop
  RUBY

  def serve(**options, &block) = ElahServer.start(APP, env: { "DATABASE" => server.url }, **options, &block)

  def sleeping_path(seconds, name) = "/db/sleep?#{URI.encode_www_form(statement: sleep_sql(seconds), name: name)}"

  def test_a_crowd_behind_a_pool_is_served_in_turn_and_nobody_else_waits
    serve do |elah|
      clients = Array.new(300) do |number|
        HttpClient.new(elah.url).tap { |one| one.write(head(sleeping_path(0.01, number))) }
      end
      assert_equal "free", elah.get("/free").json
      assert_operator elah.get("/status").json["waiting"], :<=, 2, "the crowd waits before the gate, without a fiber"
      assert_equal [200], clients.map { |one| one.read_answer.status }.uniq
      assert_equal 300, @admin.value("SELECT count(*) FROM things")
      assert_equal 2, connections
    ensure
      clients&.each(&:close)
    end
  end

  def test_a_request_past_its_deadline_is_504_and_leaves_nothing_behind
    serve(request_seconds: 3) do |elah|
      assert_equal 504, elah.get(sleeping_path(60, "late")).status
      wait_until("nothing sleeps") { @admin.value(sleepers_sql).zero? }
      wait_until("no connection is left") { connections.zero? }
      assert_equal 0, @admin.value("SELECT count(*) FROM things")
      assert_equal 1, elah.get("/db/one").json
    end
  end

  def test_a_database_that_stops_and_comes_back
    serve do |elah|
      assert_equal 1, elah.get("/db/one").json
      server.stop
      answer = elah.get("/db/one")
      answer = elah.get("/db/one") if answer.status == 503 # the first may have found the connection as it broke
      assert_equal [503, "store_unavailable"], [answer.status, answer.json["code"]]
      refute_match(/secret/, elah.log)
      assert_equal "free", elah.get("/free").json
      server.start
      wait_until("it serves again") { elah.get("/db/one").status == 200 }
    end
  ensure
    server.start unless server.running?
  end

  def test_what_the_database_refuses_is_500_and_in_the_log
    serve do |elah|
      assert_equal [500, "internal_error"], elah.get("/db/wrong").then { |answer| [answer.status, answer.json["code"]] }
      assert_match(/Elah::SQL::SyntaxError.*nothing/, elah.log)
    end
  end

  private

  def head(path) = "GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n"
end

SQLCase.on_each_server(SQLServing)

# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/links_server"
require_relative "../support/servers"

# The shortener on MongoDB's protocol over HTTP: exact limits, and what clients are told while mongo-java-server is
# away.
class LinksMongoTest < Minitest::Test
  VISITORS = 200
  MAX_VISITS = 50
  PATIENT = %w[waitQueueTimeoutMS socketTimeoutMS serverSelectionTimeoutMS]
            .map { |name| "#{name}=60000" }.join("&").freeze

  def test_a_limit_is_exact_with_many_clients_at_once
    with_links do |server, _|
      server.create(code: "few", max_visits: MAX_VISITS)
      gate = Queue.new
      clients = Array.new(VISITORS) do
        Thread.new { HttpClient.open(server.url) { |client| gate.pop && client.get("/few").status } }
      end
      VISITORS.times { gate << true }
      assert_equal({ 302 => MAX_VISITS, 410 => VISITORS - MAX_VISITS }, clients.map(&:value).tally)
      assert_equal MAX_VISITS, server.visits("few")
    end
  end

  def test_clients_are_told_what_is_wrong_and_the_rest_goes_on
    with_links("socketTimeoutMS=3000&serverSelectionTimeoutMS=3000") do |server, mongo|
      server.create(code: "abc")
      mongo.pause
      assert_equal [504, "query_timeout"], told(server, "/abc")
      mongo.resume
      mongo.stop
      assert_equal [[503, "store_unavailable"]] * 2, [told(server, "/abc"), told(server, "/readyz")]
      assert_equal 200, server.get("/livez").status
      mongo.start
      statuses = Enumerator.produce { server.get("/abc").status }.take_while { |status| status == 503 }
      assert_operator statuses.size, :<, 50
      assert_equal 302, server.get("/abc").status
    end
  end

  def test_a_url_without_a_database_is_refused_at_boot
    error = assert_raises(ElahServer::Failure) { LinksServer.start(store: "mongodb://127.0.0.1:1") { flunk } }
    assert_includes error.message, "The URL names no database"
  end

  private

  def with_links(options = PATIENT)
    Servers::MongoJavaServer.start(durable: true) do |mongo|
      LinksServer.start(store: "#{mongo.url}?#{options}") { |server| yield server, mongo }
    end
  end

  # @return [Array(Integer, String)] status and code of the answer
  def told(server, path)
    answer = server.get(path)
    [answer.status, answer.json["code"]]
  end
end

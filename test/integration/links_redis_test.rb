# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/links_server"
require_relative "../support/servers"

# The shortener on Redis: exact limits, counts, transfers, and what its clients see when Redis is away.
class LinksRedisTest < Minitest::Test
  CLIENTS = 200

  # @yieldparam server [LinksServer] with an empty store
  # @yieldparam redis [Servers::Redis]
  def with_servers(**options)
    Servers::Redis.start { |redis| LinksServer.start(store: redis.url, **options) { |server| yield server, redis } }
  end

  def test_two_hundred_clients_get_fifty_redirects_of_a_link_for_fifty
    with_servers do |server, _|
      code = server.create(max_visits: 50).fetch("code")
      statuses = at_once(server.url, CLIENTS) { |client| client.get("/#{code}").status }
      assert_equal({ 302 => 50, 410 => 150 }, statuses.tally)
      server.kill_and_restart
      assert_equal [410, 50], [server.get("/#{code}").status, server.visits(code)]
    end
  end

  def test_a_limit_is_exact_on_two_servers_of_one_cluster
    Servers::RedisCluster.start do |cluster|
      store = cluster.url.sub("redis://", "redis+cluster://")
      LinksServer.start(store: store) do |one|
        LinksServer.start(store: store) do |other|
          code = one.create(max_visits: 50).fetch("code")
          statuses = [one, other].map do |server|
            Thread.new { at_once(server.url, 100) { |client| client.get("/#{code}").status } }
          end
          assert_equal({ 302 => 50, 410 => 150 }, statuses.flat_map(&:value).tally)
          codes = [one, other].flat_map { |server| Array.new(5) { server.create.fetch("code") } }
          assert_equal 10, codes.uniq.size
          3.times { codes.each { |plain| other.get("/#{plain}") } }
          assert_equal [3] * 10, codes.map { |plain| one.visits(plain) }
        end
      end
    end
  end

  def test_visits_are_all_counted
    with_servers do |server, _|
      codes = Array.new(5) { server.create.fetch("code") }
      at_once(server.url, 20) { |client| codes.each { |code| 10.times { client.get("/#{code}") } } }
      assert_equal [200] * 5, codes.map { |code| server.visits(code) }
    end
  end

  def test_ten_thousand_links_go_in_and_out
    with_servers do |server, _|
      links = Array.new(10_000) do |index|
        { target: "https://example.com/#{index}", code: "code-#{index}", visits: index }
      end
      *results, summary = server.import(links)
      assert_equal({ "lines" => 10_000, "created" => 10_000, "found" => 0, "failed" => 0 }, summary.fetch("summary"))
      assert_equal 10_000, results.size
      lines = server.get("/links/export").body.lines.map { |line| JSON.parse(line) }
      assert_equal lines.map { |line| line["code"] }.sort, lines.map { |line| line["code"] }
      assert_equal (0...10_000).to_a, lines.map { |line| line["visits"] }.sort
    end
  end

  def test_without_redis_clients_get_503_and_with_it_again_302
    with_servers do |server, redis|
      server.create(code: "abc")
      redis.stop
      answer = server.get("/abc")
      assert_equal [503, "store_unavailable", "application/problem+json"],
                   [answer.status, answer.json["code"], answer["content-type"]]
      assert_equal [503, 503, 200],
                   [server.get("/readyz"), server.get("/links?limit=1"), server.get("/livez")].map(&:status)
      redis.start
      answer = server.get("/abc") until answer.status != 503
      assert_equal 302, answer.status
    end
  end

  def test_a_silent_redis_holds_up_no_other_request
    with_servers(request_seconds: 3) do |server, redis|
      server.create(code: "abc")
      redis.pause
      waiting = Array.new(20) { Thread.new { server.get("/abc").status } }
      assert_equal 200, server.get("/livez").status
      assert_equal [504], waiting.map(&:value).uniq
      redis.resume
      answer = server.get("/abc") until answer && answer.status != 503 # those who were silent for long are called anew
      assert_equal 302, answer.status
    end
  end

  def test_the_option_names_a_store_that_there_is
    failure = assert_raises(ElahServer::Failure) do
      ElahServer.start(LinksServer::APP, store: "http://user:private@host")
    end
    assert_match(%r{store must be embedded or a URL that begins with .*redis://}, failure.message)
    refute_includes failure.message, "private"
  end

  private

  # Opens all connections first, then lets every client go at the same moment.
  def at_once(url, count)
    gate = Queue.new
    clients = Array.new(count) { Thread.new { HttpClient.open(url) { |client| gate.pop && yield(client) } } }
    count.times { gate << true }
    clients.map(&:value)
  end
end

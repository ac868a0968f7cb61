# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# What `behind` promises: so many requests of a route run at once, the others wait a bounded time, and other routes know
# nothing of it.
class GatesTest < Minitest::Test
  APP = File.expand_path("../support/apps/gates.rb", __dir__)

  def start(**options, &block) = ElahServer.start(APP, **options, &block)

  # Sends GET of each path on a connection of its own, all at once, and gives the answers.
  def burst(server, *paths)
    clients = send_all(server, *paths)
    clients.map(&:read_answer)
  ensure
    clients&.each(&:close)
  end

  def send_all(server, *paths)
    paths.map do |path|
      HttpClient.new(server.url).tap { |client| client.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n") }
    end
  end

  def test_no_more_run_at_once_than_the_gate_lets_through_whatever_the_route
    start do |server|
      paths = ["/narrow/slow/20", "/narrow/other/20"] * 30
      assert_equal [200], burst(server, *paths).map(&:status).uniq
      assert_equal 3, server.get("/peak").json
    end
  end

  def test_other_routes_are_answered_while_a_line_stands_at_the_gate
    start do |server|
      waiting = send_all(server, *(["/narrow/slow/1000"] * 12))
      free = Array.new(20) { server.get("/free") }
      assert_equal [200], free.map(&:status).uniq
      assert_nil waiting.last.socket.wait_readable(0), "the line stands still"
      assert_equal [200], waiting.map { |client| client.read_answer.status }.uniq
    ensure
      waiting&.each(&:close)
    end
  end

  # Nothing said so: the database got all requests at once.
  def test_a_gate_of_an_api_within_another_rack_app_is_said_to_have_no_effect
    api = "class Shop < Elah::API\n get(:free) { 1 }\n behind max: 1\n get('a/:id') { 2 }\nend\n"
    ["use Rack::Head\nrun Shop", "map('/') { run Shop }", "run Rack::Cascade.new([->(_) {}, Shop])"].each do |source|
      ElahServer.start(api + source, extension: ".ru") do |server|
        server.wait_for(%r{WARN .*`behind` has no effect on GET /a/:id of Shop, .* Run Shop alone})
      end
    end
    ElahServer.start("#{api}run Shop", extension: ".ru") { |server| refute_includes server.log, "has no effect" }
  end

  def test_who_waits_too_long_is_503_with_retry_after
    start do |server|
      answers = burst(server, *(["/impatient/slow/4000"] * 4))
      assert_equal({ 200 => 1, 503 => 3 }, answers.map(&:status).tally)
      refused = answers.find { |answer| answer.status == 503 }
      assert_equal %w[1 overloaded], [refused["retry-after"], refused.json["code"]]
      assert_equal "The request waited 0.2 s for its turn: try again later.", refused.json["detail"]
    end
  end

  def test_a_full_line_is_503_at_once
    start do |server|
      answers = burst(server, *(["/short/slow/2000"] * 10))
      assert_equal({ 200 => 3, 503 => 7 }, answers.map(&:status).tally)
    end
  end

  def test_a_failed_request_and_a_client_that_goes_make_room
    start(request_seconds: 3) do |server|
      assert_equal [500], burst(server, *(["/narrow/failing"] * 10)).map(&:status).uniq
      assert_equal [504], burst(server, *(["/narrow/slow/60000"] * 3)).map(&:status).uniq
      send_all(server, *(["/narrow/slow/200"] * 3), *(["/narrow/slow/60000"] * 50)).each(&:close)
      assert_equal 200, server.get("/narrow/slow/1").status
    end
  end

  # Those who wait at a gate have no fiber: the fibers are left to the other routes.
  def test_who_waits_at_a_gate_takes_no_fiber
    start(fibers_max: 5, queue_max: 0) do |server|
      waiting = send_all(server, *(["/narrow/slow/200"] * 100))
      assert_equal [200], Array.new(20) { server.get("/free").status }.uniq
      assert_equal [200], waiting.first(9).map { |client| client.read_answer.status }.uniq
    ensure
      waiting&.each(&:close)
    end
  end
end

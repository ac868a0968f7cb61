# frozen_string_literal: true

# Requests of the server that become events: what is kept of them, what is refused, and what a client gets when the
# journal does not take one.
require "test_helper"
require "support/elah_server"
require "support/patience"

class SinkRequestsServingTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    SEEN = []
    EVENTS = Elah::Sink.new("events", event_bytes_max: 16_384, journal_bytes_max: 98_304,
                                      retry_max_seconds: 0.05) do |batch|
      raise Elah::Unavailable, "gone" if File.exist?("gone")

      batch.each { |event| SEEN << { id: event.id, stream: event.stream, data: event.data } }
    end
    NAMES = %w[cookie authorization].freeze

    class App < Elah::API
      format :json
      helpers do
        def record(**options)
          receipt = EVENTS.push_request(request, with: { site: "shop" }, params: params, **options)
          { id: receipt.id, durability: receipt.durability }
        end
      end

      get(:all) { record }
      get(:except) { record(except: NAMES, stream: "web", id: "0190d3c0-0000-7000-8000-000000000001") }
      get(:only) { record(only: %w[host x-two]) }
      post(:disk) { record(except: NAMES, durability: :disk) }
      post(:delivered) { record(durability: :delivered, wait_seconds: 30) }
      get(:wrong) { EVENTS.push_request(request, with: { site: Float::NAN }) }
      get(:odd) { EVENTS.push_request(request, with: "{") }
      get(:names) do
        [[7], [nil], ["Host"], [:host]].map do |names|
          EVENTS.push_request(request, except: names)
        rescue TypeError, ArgumentError => e
          e.message
        end
      end
      get(:durability) { EVENTS.push_request(request, durability: :paper) }
      get(:levels) { EVENTS.flush && SEEN.shift[:data]["params"]["a"].inspect.count("[") }
      get(:seen) { EVENTS.flush && SEEN.slice!(0..) }
    end
    run App
  RUBY

  def start(**options) = ElahServer.start(APP, **options)

  def with_server(**options)
    server = start(**options)
    yield server
  ensure
    server&.kill
  end

  def get(server, path, *lines)
    server.connect do |client|
      client.write(["GET #{path} HTTP/1.1", "Host: h", *lines].join("\r\n").b << "\r\n\r\n")
      client.read_answer
    end
  end

  def post(server, path, body)
    server.request("POST", path, body: body, headers: { "Content-Type" => "application/json" })
  end

  LINES = ["X-Odd: caf\xE9".b, "X-Two: 1", "Cookie: a=1", "X-Two: 2", "Cookie: b=2", "Authorization: Basic x"].freeze
  HEADERS = { "host" => "h", "x-odd" => "caf\uFFFD", "x-two" => "1, 2" }.freeze

  def test_what_is_kept_of_a_request
    with_server do |server|
      %w[/all?q=1 /except?a=%C3%BC /only].each { |target| assert_equal 200, get(server, target, *LINES).status }
      all, except, only = server.get("/seen").json
      assert_equal({ **HEADERS, "cookie" => "a=1; b=2", "authorization" => "Basic x" }, all["data"]["headers"])
      assert_equal({ "site" => "shop", "path" => "/all", "headers" => all["data"]["headers"],
                     "params" => { "q" => "1" } }, all["data"])
      assert_equal [HEADERS, { "a" => "ü" }], except["data"].values_at("headers", "params")
      assert_equal ["web", "0190d3c0-0000-7000-8000-000000000001"], except.values_at("stream", "id")
      assert_equal({ "host" => "h", "x-two" => "1, 2" }, only["data"]["headers"])
    end
  end

  # More headers than are looked through one by one.
  def test_many_headers
    with_server do |server|
      lines = Array.new(40) { |n| "X-N#{n}: #{n}" }
      get(server, "/except", *lines, *LINES)
      expected = lines.to_h { |line| line.downcase.split(": ") }
      assert_equal({ **HEADERS, **expected }, server.get("/seen").json.first["data"]["headers"])
    end
  end

  def test_each_durability_and_its_receipt
    with_server do |server|
      %w[disk delivered].each do |durability|
        answer = post(server, "/#{durability}", '{"n":[1,{"m":null}]}')
        assert_equal [201, durability], [answer.status, answer.json["durability"]]
        event = server.get("/seen").json.first
        assert_equal [answer.json["id"], { "n" => [1, { "m" => nil }] }], [event["id"], event["data"]["params"]]
      end
    end
  end

  # All that wait share syncs, and each gets its own response.
  def test_many_clients_that_wait_for_the_disk
    with_server do |server|
      threads = Array.new(20) do |n|
        Thread.new { Array.new(5) { |m| post(server, "/disk", %({"n":#{(n * 5) + m}})).json["id"] } }
      end
      ids = threads.flat_map(&:value)
      events = server.get("/seen").json
      assert_equal ids.sort, events.map { |event| event["id"] }.sort
      assert_equal (0...100).to_a, events.map { |event| event["data"]["params"]["n"] }.sort
    end
  end

  def test_an_event_on_the_disk_outlives_a_kill
    Dir.mktmpdir("elah-sink") do |data|
      id = nil
      with_server(data: data) do |server|
        File.write(File.join(server.folder, "gone"), "")
        id = post(server, "/disk", '{"n":1}').json["id"]
        server.signal(:KILL)
        server.wait_until_ended
      end
      with_server(data: data) do |server|
        wait_until("the event is delivered") { @found = server.get("/seen").json.first }
        assert_equal id, @found["id"]
      end
    end
  end

  def test_what_is_refused
    with_server do |server|
      assert_equal 400, post(server, "/disk", "{").status
      assert_equal 413, post(server, "/disk", %({"a":"#{'x' * 17_000}"})).status
      %w[/wrong /odd /durability].each { |path| assert_equal 500, get(server, path).status, path }
      strings = "Names of headers are Strings, not "
      in_lower_case = 'Names of headers are in lower case, not "Host".'
      assert_equal ["#{strings}7.", "#{strings}nil.", in_lower_case, "#{strings}:host."], server.get("/names").json
      assert_empty server.get("/seen").json
    end
  end

  # The params have as many levels as JSON may have, and are one level of the event.
  def test_the_deepest_params
    with_server do |server|
      assert_equal 201, post(server, "/disk", %({"a":#{'[' * 99}#{']' * 99}})).status
      assert_equal 99, server.get("/levels").json
    end
  end

  def test_a_full_journal
    with_server do |server|
      File.write(File.join(server.folder, "gone"), "")
      body = %({"a":"#{'x' * 12_000}"})
      statuses = Array.new(10) { post(server, "/disk", body).status }
      assert_equal [201, 503], [statuses.first, statuses.last]
      assert_equal 503, post(server, "/disk", body).status
      File.unlink(File.join(server.folder, "gone"))
      wait_until("there is room again") { post(server, "/disk", body).status == 201 }
    end
  end

  def test_a_drain_waits_for_requests_that_wait_for_a_delivery
    with_server do |server|
      File.write(File.join(server.folder, "gone"), "")
      clients = Array.new(8) { HttpClient.new(server.url) }
      clients.each { |client| client.write("POST /delivered HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n") }
      wait_until("all are in their handlers") { open_requests(server) == 8 }
      server.signal(:TERM)
      File.unlink(File.join(server.folder, "gone"))
      answers = clients.map { |client| client.read_answer }
      assert_equal [[201, "delivered"]], answers.map { |answer| [answer.status, answer.json["durability"]] }.uniq
      assert_predicate server.wait_until_ended, :success?
    end
  end

  private

  def open_requests(server)
    run_dir = Elah::RunDir.new(File.join(server.folder, "run", server.pid.to_s))
    Elah::Status.new(Elah::Scoreboard.open(run_dir.scoreboard_path)).workers.sum { |worker| worker[:open_requests] }
  end
end

# frozen_string_literal: true

# What a Rails API sends piece by piece, and its WebSockets.
require "test_helper"
require "json"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "support/rails_api"
require "support/web_socket"

class RailsStreamsTest < Minitest::Test
  include RailsApi

  EVENTS = [0, 1, 2].map { |number| "event: tick\ndata: #{JSON.generate(number: number, widgets: 0)}\n\n" }.freeze
  SOCKETS = 10
  IDENTIFIER = JSON.generate(channel: "NewsChannel").freeze

  def server = shared_server

  def test_live_sends_each_event_at_once
    server.connect do |client|
      client.write("GET /live HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal "text/event-stream", client.read_head["content-type"][/[^;]+/]
      pieces = [client.read_chunk]
      pieces << client.read_chunk until pieces.last.empty?
      assert_equal EVENTS.join, pieces.join
      assert_operator pieces.size, :>, EVENTS.size
    end
  end

  # An action of Live runs in a thread, and waits there.
  def test_many_live_actions_run_at_once
    assert_equal [EVENTS.join], RequestBurst.new(server, ["/live"] * 20).answers.map(&:body).uniq
    assert_nothing_leaked(server)
  end

  def test_a_client_that_leaves_a_live_action_ends_it
    target = "/live?ticks=#{1 << 30}"
    clients = Array.new(10) { server.connect.write("GET #{target} HTTP/1.1\r\nHost: a\r\n\r\n").tap(&:read_head) }
    assert_equal 10, server.get("/live/running").json
    clients.each(&:close)
    wait_until("the actions have ended") { server.get("/live/running").json.zero? }
    assert_nothing_leaked(server)
  end

  # Its thread waited for a reader for ever.
  def test_a_deadline_before_the_head_ends_a_live_action
    serve(request_seconds: 1) do |server|
      assert_equal 504, server.get("/live?before=2&ticks=50&pause=0").status
      wait_until("the action has ended") { server.get("/live/running").json.zero? }
    end
  end

  # Rack::ETag was cancelled while it read the stream, which nobody closed.
  def test_a_deadline_while_middleware_reads_a_live_action_ends_it
    serve(request_seconds: 1) do |server|
      assert_equal 504, server.get("/live?etag=1&ticks=#{1 << 30}&pause=0.001").status
      wait_until("the action has ended") { server.get("/live/running").json.zero? }
    end
  end

  # It has no stream that could be aborted: each was reported as a failed request.
  def test_a_live_controller_sends_a_file
    serve do |server|
      assert_match(/RUNNING/, server.get("/live/file").body)
      server.stop
      refute_match(/ERROR/, server.log)
    end
  end

  def test_a_turbo_stream
    response = server.get("/turbo")
    assert_equal "text/vnd.turbo-stream.html; charset=utf-8", response["content-type"]
    assert_equal '<turbo-stream action="append" target="widgets"><template>0</template></turbo-stream>', response.body
  end

  def test_action_cable
    sockets = Array.new(SOCKETS) { subscribed }
    server.get("/broadcast?text=fresh")
    assert_equal [{ "text" => "fresh" }], sockets.map { |socket| received(socket) }.uniq
    sockets.each_with_index do |socket, index|
      command(socket, "message", data: JSON.generate(action: "count", name: index))
    end
    assert_equal(Array.new(SOCKETS) { |index| { "widgets" => 0, "for" => index } },
                 sockets.map { |socket| received(socket) })
    assert_equal "hello", server.get("/hello").body
    sockets.each(&:close)
  end

  private

  def subscribed
    socket = WebSocket.new(server, "/cable", "Sec-WebSocket-Protocol" => "actioncable-v1-json")
    assert_equal "welcome", next_of(socket)["type"]
    command(socket, "subscribe")
    assert_equal "confirm_subscription", next_of(socket)["type"]
    socket
  end

  def command(socket, name, **rest) = socket.write(JSON.generate(command: name, identifier: IDENTIFIER, **rest))
  def received(socket) = next_of(socket).fetch("message")

  # Action Cable pings every three seconds.
  def next_of(socket)
    found = JSON.parse(socket.read) until found && found["type"] != "ping"
    found
  end
end

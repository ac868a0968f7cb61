# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/leaderboards_server"

# The feed of rank changes over a real connection, and write tokens.
class LeaderboardsFeedTest < Minitest::Test
  def test_changes_are_told_and_a_listener_goes_on_where_it_left
    LeaderboardsServer.start(settings: { leaderboards_feed_seconds: 6 }) do |server|
      board = server.create
      server.submit(board, "ann", 1)
      last = listen(server, board) do |events|
        assert_equal ["reset", 1], events.next.then { |event, data, _| [event, data["size"]] }
        server.submit(board, "bob", 2)
        event, data, id = events.next
        assert_equal ["rank", "bob", 1, nil], [event, *data.values_at("member", "rank", "previous_rank")]
        id
      end
      server.submit(board, "ann", 3)
      server.submit(board, "ann", 1)
      listen(server, board, last) do |events|
        assert_equal ["rank", "ann", 1, 2],
                     events.next.then { |event, data, _| [event, *data.values_at("member", "rank", "previous_rank")] }
        server.post("#{board}/seasons")
        assert_equal ["reset", 2], events.next.then { |event, data, _| [event, data["season"]] }
      end
      listen(server, board) do |events|
        assert_equal "reset", events.next.first
        assert_equal 204, server.delete(board).status
        assert_raises(StopIteration, "the board is gone") { events.next }
      end
      board = server.create
      listen(server, board,
             "00000000-7") { |events| assert_equal ["reset"], events.map(&:first), "and then its time is over" }
    end
  end

  def test_a_token_writes_the_score_of_its_member_alone
    LeaderboardsServer.start(settings: { leaderboards_api_key: "key", leaderboards_token_secret: "s" * 16 }) do |server|
      key = { "X-Api-Key" => "key" }
      game = server.post("/games", { name: "x" }, headers: key).json["id"]
      board = "/leaderboards/#{server.post("/games/#{game}/leaderboards", { name: 'x' }, headers: key).json['id']}"
      assert_equal 401, server.post("#{board}/tokens", { member: "ann" }).status
      created = server.post("#{board}/tokens", { member: "ann", expires_in: 60 }, headers: key)
      token = { "X-Write-Token" => created.json["token"] }
      assert_equal 200, server.put("#{board}/members/ann", { score: 5 }, headers: token).status
      refused = [server.put("#{board}/members/bob", { score: 5 }, headers: token),
                 server.put("#{board}/members/ann", { score: 1, operator: "set" }, headers: token),
                 server.post("#{board}/members/ann/increments", { by: 1 },
                             headers: { "Idempotency-Key" => "k", **token }),
                 server.delete("#{board}/members/ann", headers: token),
                 server.put("#{board}/members/ann", { score: 5 })]
      assert_equal [[401, "invalid_token"], [422, "invalid_operator"], [422, "invalid_operator"],
                    [401, "unauthorized"], [401, "unauthorized"]],
                   refused.map { |answer| [answer.status, answer.json["code"]] }
      assert_equal 400, server.post("#{board}/tokens", { member: "ann", expires_in: 0 }, headers: key).status
    end
  end

  def test_wrong_settings_are_told
    wrong = {
      ["leaderboards_token_secret=#{'s' * 16}"] => /needs a leaderboards_api_key/,
      ["leaderboards_feed_seconds=0"] => /leaderboards_feed_seconds must be a whole number from 1 to 300, not 0/,
      ["leaderboards_token_secret=short", "leaderboards_api_key=k"] => /at least 16 bytes, not 5/
    }
    wrong.each do |settings, message|
      arguments = settings.flat_map { |setting| ["--set", setting] }
      failure = assert_raises(ElahServer::Failure) do
        ElahServer.start(LeaderboardsServer::APP, arguments: arguments)
      end
      assert_match message, failure.message
    end
    LeaderboardsServer.start do |server|
      assert_equal 501, server.post("#{server.create}/tokens", { member: "ann" }).status
    end
  end

  private

  # Reads events until the block has what it wants: type, data and id of each.
  def listen(server, board, last = nil)
    Socket.tcp("127.0.0.1", server.process.port) do |socket|
      socket.write("GET #{board}/feed HTTP/1.0\r\nHost: x\r\n#{"Last-Event-ID: #{last}\r\n" if last}\r\n")
      events = Enumerator.new do |found|
        fields = {}
        while (line = socket.gets)
          name, value = line.chomp.split(": ", 2)
          next fields[name] = value if %w[id event data].include?(name)
          next unless line == "\n" && fields["event"]
          next fields = {} if fields["event"] == "hello"

          found << [fields["event"], JSON.parse(fields["data"]), fields["id"]]
          fields = {}
        end
      end
      yield events
    end
  end
end

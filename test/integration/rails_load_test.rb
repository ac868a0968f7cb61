# frozen_string_literal: true

# A mixed load on a Rails API. LOAD_SECONDS is its duration.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "support/process_memory"
require "support/rails_api"
require "support/web_socket"

class RailsLoadTest < Minitest::Test
  include RailsApi

  SECONDS = Float(ENV.fetch("LOAD_SECONDS", "20"))
  CLIENTS = 12

  # The expected body, by target.
  MIX = {
    "/hello" => "hello", "/slow?seconds=0.02" => '{"waited":true}', "/widgets/create?name=l" => '{"open":0}',
    "/widgets/create?name=l&fail=1" => '{"open":0}', "/widgets/cached" => '["sent","cached","sent"]',
    "/widgets/roles?role=reading" => '{"before":"writing","inside":["reading",false],"after":"writing"}',
    "/widgets/roles?role=writing" => '{"before":"writing","inside":["writing",true],"after":"writing"}',
    "/whoami?user=me" => '{"before":null,"user":"me"}', "/widgets/later?name=UNIQUE" => '{"widgets":1}',
    "/live" => /\A(event: tick\ndata: .*\n\n){3}\z/, "/turbo" => /\A<turbo-stream/, "/broadcast?text=a" => ""
  }.freeze

  def test_a_mixed_load_leaves_nothing_behind
    serve(database: { pool: 6 }) do |server|
      socket = WebSocket.new(server, "/cable", "Sec-WebSocket-Protocol" => "actioncable-v1-json")
      load(server, SECONDS / 2)
      before = settled_memory(server)
      wrong, count = load(server, SECONDS / 2)
      puts "#{count} requests in #{(SECONDS / 2).round} s, " \
           "memory #{before >> 20} MB before, #{settled_memory(server) >> 20} MB after"
      assert_empty wrong
      assert_operator settled_memory(server), :<, before * 1.2
      assert_operator server.get("/pool").json["connections"], :<=, 6
      # A busy machine makes any handler a slow one.
      assert_empty server.log.lines.grep(/ (ERROR|WARN) /).grep_v(/blocked the loop/)
      socket.close
    end
  end

  private

  # @return [Array(Array, Integer)] the first wrong responses, and how many requests there were
  def load(server, seconds)
    end_at = monotonic + seconds
    wrong = Queue.new
    counts = Array.new(CLIENTS) { |index| Thread.new { requests(server, index, wrong, end_at) } }.map(&:value)
    [Array.new([wrong.size, 5].min) { wrong.pop }, counts.sum]
  end

  def requests(server, index, wrong, end_at)
    random = Random.new(index)
    count = 0
    server.connect(seconds: 120) do |client|
      while monotonic < end_at
        target, expected = MIX.to_a.sample(random: random)
        answer = client.get(target.sub("UNIQUE", "#{index}-#{Random.rand(1 << 60)}"))
        is_right = [200, 204].include?(answer.status) && expected === answer.body
        wrong << [target, answer.status, answer.body] unless is_right
        count += 1
      end
    end
    count
  end

  # @return [Integer] bytes, when nothing runs
  def settled_memory(server)
    assert_nothing_leaked(server)
    ProcessMemory.resident_bytes(server.pid)
  end
end

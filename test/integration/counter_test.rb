# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# examples/counter.rb: both ways to count are read while they count.
class CounterTest < Minitest::Test
  EXAMPLE = File.expand_path("../../examples/counter.rb", __dir__)

  def test_in_a_fiber_whoever_reads_sees_whole_steps
    ElahServer.start(EXAMPLE) do |server|
      counts = read_growing(server)
      assert_empty(counts.reject { |count| (count % 100_000).zero? })
      assert_answers(server)
    end
  end

  def test_in_a_thread_with_a_mutex
    ElahServer.start(EXAMPLE, arguments: ["--set", "counter=thread"]) do |server|
      counts = read_growing(server)
      assert(counts.any? { |count| (count % 100_000).positive? })
      assert_answers(server)
    end
  end

  private

  # The first six different counts.
  def read_growing(server)
    counts = []
    server.connect { |client| counts |= [client.get("/counter").json["count"]] while counts.size < 6 }
    assert_equal counts.sort, counts
    counts
  end

  def assert_answers(server)
    assert_equal({ "status" => "ok" }, server.get("/health").json)
    assert_equal [404, "not_found"], server.get("/nothing").then { |answer| [answer.status, answer.json["code"]] }
  end
end

# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/request_burst"

# Events of endpoints under the server, where requests share a thread.
class NotificationsTest < Minitest::Test
  APP = File.expand_path("../support/apps/events.rb", __dir__)

  # Notifications keep the beginnings of events in a stack.
  def test_requests_at_once_have_their_own_times
    ElahServer.start(APP) do |server|
      waits = [900, 500, 100]
      assert_equal({ 200 => 3 }, RequestBurst.new(server, waits.map { |ms| "/wait/#{ms}" }).statuses)
      seen = server.get("/seen").json.select { |route, _, _| route == "/wait/:ms" }
      assert_equal(waits.sort, seen.map { |_, path, _| path[/\d+\z/].to_i }.sort)
      seen.each { |_, path, ms| assert_operator ms, :>=, path[/\d+\z/].to_i - 1 }
    end
  end

  # The env of such a request would read its body.
  def test_streams_in_both_directions_are_left_alone
    ElahServer.start(APP) do |server|
      assert_equal "streamed", server.get("/stream").body
      assert_equal({ "bytes" => 300_000 }, server.request("POST", "/upload", body: "a" * 300_000).json)
      assert_equal %w[/stream /upload], server.get("/seen").json.map(&:first).first(2)
    end
  end
end

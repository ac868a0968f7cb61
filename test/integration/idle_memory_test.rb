# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"
require "support/process_memory"

# What large bodies took comes back when the server has little to do. It stayed at two to four times the size of the
# start.
class IdleMemoryTest < Minitest::Test
  include Patience

  APP = <<~RUBY
    class App < Elah::API
      format :json
      content_type :bin, "application/octet-stream"
      get(:small) { {} }
      post(:length, late_body: true) { { length: request.body.bytesize } }
      post(:words) { { words: params[:words].size } }
    end
    run App
  RUBY

  # By how much it may stay above its size at the start.
  ROOM_BYTES = 12_000_000

  BODIES = {
    "/length" => ["x" * 9_000_000, "application/octet-stream"],
    "/words" => ["{\"words\":[#{(["\"seven77\""] * 300_000).join(',')}]}", "application/json"]
  }.freeze

  BODIES.each do |path, (body, type)|
    define_method(:"test_the_memory_of_large_bodies_to_#{path.delete('/')}_comes_back") do
      ElahServer.start(APP) do |server|
        20.times { server.get("/small") }
        before = ProcessMemory.resident_bytes(server.pid)
        clients = Array.new(8) { Thread.new { server.connect { |client| 4.times { post(client, path, body, type) } } } }
        clients.each(&:join)
        wait_until("the memory comes back") { ProcessMemory.resident_bytes(server.pid) < before + ROOM_BYTES }
      end
    end
  end

  # A worker looks every few seconds, and may need several rounds.
  def patience_seconds = 300

  private

  def post(client, path, body, type)
    answer = client.request("POST", path, body: body, headers: { "Content-Type" => type })
    assert_equal 201, answer.status, answer.body
  end
end

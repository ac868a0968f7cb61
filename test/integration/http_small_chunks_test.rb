# frozen_string_literal: true

require "digest"
require_relative "../test_helper"
require_relative "../support/elah_server"

# A client may send each byte as a chunk of its own. What was too long for memory was written chunk by chunk: 43 µs
# each, minutes for a body of 10 MB.
class HttpSmallChunksTest < Minitest::Test
  APP = <<~'RUBY'
    require "digest"
    run ->(env) { [200, {}, [Digest::SHA256.hexdigest(env["rack.input"].read)]] }
  RUBY

  CPU_SECONDS_MAX = 1.0

  def test_a_spooled_body_of_small_chunks_costs_little
    ElahServer.start(APP, body_memory_bytes: 1024) do |server|
      body = Random.new(1).bytes(60_000)
      assert_equal Digest::SHA256.hexdigest(body), server.connect { |client| send_in_chunks(client, body, 1) }
      assert_operator cpu_seconds(server.pid), :<, CPU_SECONDS_MAX
      big = Random.new(2).bytes(1_000_001)
      [1000, 65_536, 200_000].each do |bytes|
        assert_equal Digest::SHA256.hexdigest(big), server.connect { |client| send_in_chunks(client, big, bytes) }
      end
    end
  end

  private

  # @return [String] the body of the answer
  def send_in_chunks(client, body, bytes)
    chunks = (0...body.bytesize).step(bytes).map do |at|
      part = body.byteslice(at, bytes)
      "#{part.bytesize.to_s(16)}\r\n".b << part << "\r\n"
    end
    client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".b << chunks.join << "0\r\n\r\n")
    client.read_answer.body
  end

  # Of the whole process since its start, in ticks of 10 ms.
  def cpu_seconds(pid) = File.read("/proc/#{pid}/stat").split[13, 2].sum(&:to_i) / 100.0
end

# frozen_string_literal: true

# Owns a client's end of a WebSocket: text messages of one frame below 64 KB.
class WebSocket
  KEY = "dGhlIHNhbXBsZSBub25jZQ=="
  ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  # @param server [ElahServer]
  # @param headers [Hash{String=>String}] added to the handshake
  def initialize(server, path, headers = {})
    @client = server.connect
    handshake = { "Host" => "test.example", "Upgrade" => "websocket", "Connection" => "Upgrade",
                  "Sec-WebSocket-Key" => KEY, "Sec-WebSocket-Version" => "13" }.merge(headers)
    lines = handshake.map { |name, value| "#{name}: #{value}\r\n" }
    @client.write("GET #{path} HTTP/1.1\r\n#{lines.join}\r\n")
    head = @client.read_head
    raise "no WebSocket: #{head}" unless head.status == 101 && head["sec-websocket-accept"] == ACCEPT
  end

  # @param text [String]
  def write(text)
    size = text.bytesize < 126 ? [0x80 | text.bytesize].pack("C") : [0x80 | 126, text.bytesize].pack("Cn")
    @client.write("\x81".b + size + "\0\0\0\0" + text.b) # a mask of zeros changes nothing
  end

  # @return [String] the next text; frames of other kinds are skipped
  def read
    loop do
      kind, size = @client.read_bytes(2).unpack("CC")
      size = @client.read_bytes(2).unpack1("n") if size == 126
      text = @client.read_bytes(size)
      return text.force_encoding(Encoding::UTF_8) if kind == 0x81
    end
  end

  def close = @client.close
end

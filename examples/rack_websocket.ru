# frozen_string_literal: true

# A WebSocket echo on a hijacked connection, for messages of up to 125 bytes. Use a gem for the rest of RFC 6455.
#
#   elah serve examples/rack_websocket.ru
require "digest"

accept = ->(key) { Digest::SHA1.base64digest("#{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11") }

echo = lambda do |io|
  while (head = io.read(2)&.bytes)
    mask = io.read(4).bytes
    message = io.read(head[1] & 0x7f).bytes.each_with_index.map { |byte, index| byte ^ mask[index % 4] }
    io.write([head[0], message.size, *message].pack("C*"))
    break if head[0] & 0x0f == 8
  end
ensure
  io.close
end

run lambda { |env|
  key = env["HTTP_SEC_WEBSOCKET_KEY"] or next [426, { "upgrade" => "websocket" }, ["This is a WebSocket.\n"]]

  io = env["rack.hijack"].call
  io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
           "Sec-WebSocket-Accept: #{accept.call(key)}\r\n\r\n")
  echo.call(io)
  [200, {}, []]
}

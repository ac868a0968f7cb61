# frozen_string_literal: true

require "socket"

# A proxy before a server of MongoDB's protocol that replies to inserts as the test says: with what mongo-java-server
# never has, such as a full disk or an unmet write concern.
class MongoProxy
  REPLY = 2013 # OP_MSG
  INSERT = "\x02insert\0".b

  # @param port [Integer] of the server
  def initialize(port)
    @server_port = port
    @replies = Queue.new
    @listener = TCPServer.new("127.0.0.1", 0)
    @accepting = Thread.new { loop { serve(@listener.accept) } }
    @accepting.report_on_exception = false
  end

  def port = @listener.addr[1]

  # @param document [Hash] the reply to the next insert without one
  # @param stores [Boolean] whether the server gets that insert too
  def reply(document, stores: false) = @replies << [document, stores]

  def close
    @listener.close
    @accepting.join
  rescue IOError
    nil
  end

  private

  def serve(client)
    server = TCPSocket.new("127.0.0.1", @server_port)
    replaced = {}
    [[client, server, :request], [server, client, :response]].each do |from, to, way|
      Thread.new do
        while (head = from.read(16))
          frame = head + from.read(head.unpack1("l<") - 16)
          send(way, frame, client, to, replaced)
        end
      rescue IOError, SystemCallError
        nil
      ensure
        [client, server].each(&:close)
      end
    end
  end

  def request(frame, client, server, replaced)
    document, stores = @replies.pop(true) if frame.include?(INSERT) && !@replies.empty?
    id = frame.unpack("l<2")[1]
    return server.write(frame) unless document
    return client.write(message(document, id)) unless stores

    replaced[id] = document
    server.write(frame)
  end

  def response(frame, client, _to, replaced)
    id = frame.unpack("l<3")[2]
    document = replaced.delete(id)
    client.write(document ? message(document, id) : frame)
  end

  def message(document, id)
    body = bson(document)
    [21 + body.bytesize, 0, id, REPLY, 0, 0].pack("l<4L<C") + body
  end

  def bson(document)
    body = document.map { |name, value| element(name.to_s.b, value) }.join + "\0"
    [body.bytesize + 4].pack("l<") + body
  end

  def element(name, value)
    case value
    when Float then "\x01#{name}\0".b + [value].pack("E")
    when Integer then "\x10#{name}\0".b + [value].pack("l<")
    when String then "\x02#{name}\0".b + [value.bytesize + 1].pack("l<") + value.b + "\0"
    when Hash then "\x03#{name}\0".b + bson(value)
    when Array then "\x04#{name}\0".b + bson(value.each_with_index.to_h { |item, index| [index, item] })
    end
  end
end

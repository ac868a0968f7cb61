# frozen_string_literal: true

require "socket"

module Bench
  # One answer as it came over the wire, to show that two servers do the same work.
  Answer = Struct.new(:status, :headers, :body) do
    # @param port [Integer] a server on 127.0.0.1
    # @param path [String] what to GET
    # @return [Answer]
    def self.fetch(port, path)
      socket = TCPSocket.new("127.0.0.1", port)
      socket.write("GET #{path} HTTP/1.1\r\nHost: 127.0.0.1:#{port}\r\n\r\n")
      status = socket.gets.strip
      headers = {}
      while (line = socket.gets.strip) != ""
        name, value = line.split(":", 2)
        headers[name.downcase] = value.strip
      end
      new(status, headers, socket.read(headers.fetch("content-length").to_i))
    ensure
      socket&.close
    end

    # What must be equal: everything, with the date and other values of the moment reduced to their length.
    def comparable
      moment = %w[date x-request-id]
      [status, headers.to_h { |name, value| [name, moment.include?(name) ? value.length : value] }.sort, body]
    end
  end
end

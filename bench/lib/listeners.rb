# frozen_string_literal: true

require "socket"

module Bench
  # Many clients of one stream of Server-Sent Events, in this process: counts the events that each gets.
  class Listeners
    # Ends an event; a keep-alive comment is none.
    TICK = /^event: tick$/
    READ_BYTES = 65_536

    # Raises the bound of open files for this process and the servers that it starts.
    def self.allow(listeners)
      wanted = listeners + 1000
      hard = Process.getrlimit(:NOFILE).last
      Process.setrlimit(:NOFILE, wanted, [hard, wanted].max) if Process.getrlimit(:NOFILE).first < wanted
    end

    # @param port [Integer] on 127.0.0.1
    # @param path [String]
    # @param count [Integer]
    def initialize(port, path, count)
      @counts = {}.compare_by_identity
      count.times do
        socket = TCPSocket.new("127.0.0.1", port)
        socket.write("GET #{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        @counts[socket] = 0
      end
    end

    # Forgets what was counted.
    def reset
      @counts.transform_values! { 0 }
    end

    # Reads for so many seconds what comes.
    # @raise [EOFError] when a stream ends
    def listen(seconds)
      until_time = now + seconds
      sockets = @counts.keys
      while (left = until_time - now).positive?
        ready, = IO.select(sockets, nil, nil, left)
        ready&.each { |socket| read(socket) }
      end
    end

    # @return [Hash{Symbol=>Integer}] events that a listener got: the least and the most
    def ticks = { least: @counts.values.min, most: @counts.values.max }

    private

    def read(socket)
      text = socket.read_nonblock(READ_BYTES, exception: false)
      raise EOFError, "the server ended a stream" if text.nil?
      return if text == :wait_readable

      @counts[socket] += text.scan(TICK).size
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end

# frozen_string_literal: true

require "socket"

module Elah
  class Supervisor
    # One end of the connection between the supervisor and a worker: lines of a command and its arguments. The supervisor sends
    # `release SHARDS`, `drain`, `stop` and `end`, the worker `ready`, `released` and `drained`. When one side dies, the other reads end of file.
    class Control
      # @return [Array(Control, Control)] the supervisor's end and the worker's
      def self.pair = UNIXSocket.pair.map { |socket| new(socket) }

      # @return [UNIXSocket]
      attr_reader :io

      # @param io [UNIXSocket]
      def initialize(io)
        @io = io
        @unread = +""
      end

      # Sends a line, if the other side is still connected.
      #
      # @param words [Array<String>]
      def say(*words)
        @io.write_nonblock("#{words.join(' ')}\n", exception: false)
      rescue SystemCallError
        nil
      end

      # @return [Array<String>, nil] received lines, without waiting; nil when the other side has closed
      def lines
        loop do
          read = @io.read_nonblock(4096, exception: false)
          return if read.nil? && @unread.empty?
          break unless read.is_a?(String)

          @unread << read
        end
        @unread.slice!(/.*\n/m).to_s.lines(chomp: true)
      rescue SystemCallError
        nil
      end

      # @return [String, nil] the next line, after waiting for it; nil when the other side has closed
      def gets = @io.gets(chomp: true)

      # Closes this end.
      def close = @io.close
    end
  end
end

# frozen_string_literal: true

require "socket"

module Elah
  class Supervisor
    # One end of the connection between the supervisor and a worker: lines of a command and its arguments. The supervisor sends
    # `release NUMBER SHARDS`, `drain`, `stop`, `abandon` and `end`, the worker `ready`, `released NUMBER` and `drained`. When one side dies, the
    # other reads end of file.
    class Control
      # @return [Array(Control, Control)] the supervisor's end and the worker's
      def self.pair = UNIXSocket.pair.map { |socket| new(socket) }

      # @return [UNIXSocket]
      attr_reader :io

      # @param io [UNIXSocket]
      def initialize(io)
        @io = io
        @unread = +""
        @unsent = +""
      end

      # Sends a line, if the other side is still connected. What it has no room for is sent by the next {#flush}.
      #
      # @param words [Array<String>]
      def say(*words)
        @unsent << words.join(" ") << "\n"
        flush
      end

      # Sends what the other side had no room for, without waiting.
      def flush
        until @unsent.empty?
          sent = @io.write_nonblock(@unsent, exception: false)
          return if sent == :wait_writable

          @unsent.slice!(0, sent)
        end
      rescue SystemCallError
        @unsent.clear
      end

      # @return [Array<String>, nil] received lines, without waiting; nil when the other side has closed
      def lines
        read = nil
        @unread << read while (read = @io.read_nonblock(4096, exception: false)).is_a?(String)
        complete = @unread.slice!(/.*\n/m).to_s.lines(chomp: true)
        complete unless read.nil? && complete.empty?
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

# frozen_string_literal: true

require "socket"

module Elah
  class Supervisor
    # One end of the connection between the supervisor and a worker: lines of a word and what belongs to it. The supervisor says
    # `release SHARDS`, `drain`, `stop` and `end`, the worker `ready`, `released` and `drained`. When one side dies, the other reads the end.
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

      # Says something, if the other side still listens.
      #
      # @param words [Array<String>]
      def say(*words)
        @io.write_nonblock("#{words.join(' ')}\n", exception: false)
      rescue SystemCallError
        nil
      end

      # @return [Array<String>, nil] the lines that have come, without waiting; nil when the other side has ended
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

      # @return [String, nil] the next line, waited for; nil when the other side has ended
      def gets = @io.gets(chomp: true)

      # Closes this end.
      def close = @io.close
    end
  end
end

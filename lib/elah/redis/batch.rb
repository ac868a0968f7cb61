# frozen_string_literal: true

require_relative "commands"

module Elah
  class Redis < Clients::Redis
    # Collects the commands of a {Redis#pipelined} or {Redis#multi} block. Its methods are those of the client; what they return
    # is of no use, as the commands are sent when the block has ended.
    class Batch
      include Commands

      # @return [Array<Array>]
      attr_reader :commands

      def initialize
        @commands = []
      end

      # @return [nil]
      def call(*words)
        @commands << words
        nil
      end

      undef_method :scan_each # it needs the answers
    end
  end
end

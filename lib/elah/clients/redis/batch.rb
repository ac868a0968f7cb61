# frozen_string_literal: true

require_relative "commands"

module Elah
  class Redis < Clients::Redis
    # Collects the commands of a {Redis#pipelined} or {Redis#multi} block. Its methods are those of the client. Their results have no meaning,
    # because the commands are sent when the block has ended.
    class Batch
      include Commands

      # @return [Array<Array>]
      attr_reader :commands

      def initialize
        @commands = []
      end

      # @param words [Array<String, Symbol, Numeric, Array, Hash>] as for {Redis#call}
      # @return [nil]
      def call(*words)
        @commands << words
        nil
      end

      undef_method :scan_each # it needs the replies
    end
  end
end

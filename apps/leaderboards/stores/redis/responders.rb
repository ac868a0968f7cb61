# frozen_string_literal: true

require_relative "../../definition"
require_relative "scripts"

module Leaderboards
  module Stores
    class Redis
      # Owns what answers plain reads before a handler begins: of the current season of boards whose seasons do not end by themselves, since the
      # time is looked at by {Board}. It knows the boards that this worker remembers.
      class Responders
        HEADERS = Elah::HeaderSet.new({ "content-type" => "application/json" })
        ROW = ["", ""].freeze
        LIST = ['{"season":', ',"size":', ',"members":[', "]}"].freeze
        MEMBER = { last: "member", last_bytes_max: Definition::MEMBER_BYTES_MAX }.freeze

        # @param redis [Elah::Redis]
        def initialize(redis)
          @row = redis.script(Scripts::PLAIN_ROW)
          @list = redis.script(Scripts::PLAIN_LIST)
          @responders = {}
          @boards = {}
        end

        # @param answer [Symbol] :row, :top or :around
        # @param count [Integer, nil] members of a top, or on each side
        # @return [Elah::Redis::Responder, nil] nil for another answer, and in a cluster
        def [](answer, count = nil)
          case answer
          when :row then keep(@row.responder(headers: HEADERS, texts: ROW, **MEMBER), [])
          when :top then keep(@list.responder(headers: HEADERS, texts: LIST), [count])
          when :around then keep(@list.responder(headers: HEADERS, texts: LIST, **MEMBER), [count])
          end
        end

        # @param definition [Definition]
        # @param board [Board]
        def add(definition, board)
          return if definition.season

          @boards[definition] = board
          @responders.each { |responder, args| tell(responder, args, definition, board) }
        end

        # @param definition [Definition] of a board that is no more
        def remove(definition)
          @boards.delete(definition)
          @responders.each_key { |responder| responder.remove(definition.key) }
        end

        # Forgets the boards.
        def clear
          @boards.clear
          @responders.each_key(&:clear)
        end

        private

        def keep(responder, args)
          return unless responder

          @responders[responder] = args
          @boards.each { |definition, board| tell(responder, args, definition, board) }
          responder
        end

        def tell(responder, args, definition, board)
          responder.add(definition.key, keys: board.keys, args: args, **definition.set_settings)
        end
      end
    end
  end
end

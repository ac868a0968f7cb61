# frozen_string_literal: true

require_relative "../board"
require_relative "../stores"

module Leaderboards
  module Stores
    # Keeps scores in the embedded store: each board is an entity, which one worker has and all workers call. {Stores} says what the
    # methods do.
    class Embedded
      # @return [Elah::Entity::Region] the boards
      attr_reader :boards

      # @param store [Elah::Store]
      # @param durability [Symbol] :disk or :memory
      def initialize(store, durability: :disk)
        Board.durability(durability)
        @boards = Board.in(store)
      end

      def submit(definition, member, score, operator, style) = @boards[definition.key].submit(member, score, operator, style)
      def show(definition, member, style) = @boards[definition.key].show(member, style)
      def top(definition, count, style) = @boards[definition.key].top(count, style)
      def around(definition, member, distance, style) = @boards[definition.key].around(member, distance, style)
      def range(definition, first, last, style) = @boards[definition.key].range(first, last, style)
      def row(definition, member, style) = @boards[definition.key].row(member, style)
      def size(definition) = @boards[definition.key].size
    end
  end
end

# frozen_string_literal: true

require_relative "draw"
require_relative "uniformity/tally"

module Items
  # A running service: its store, its draws, and the tally of what was drawn.
  class Service
    # @return [Stores::Embedded] or another store with the same methods
    attr_reader :store
    # @return [Draw]
    attr_reader :draw
    # @return [Uniformity::Tally]
    attr_reader :tally

    # @param store [Stores::Embedded]
    def initialize(store)
      @store = store
      @tally = Uniformity::Tally.new
      @draw = Draw.new(store, @tally)
    end
  end
end

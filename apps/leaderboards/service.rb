# frozen_string_literal: true

require_relative "clock"
require_relative "directory"
require_relative "stores/embedded"

module Leaderboards
  class << self
    # @return [Service] what this process serves
    attr_accessor :service
  end

  # Owns what a running service consists of.
  class Service
    # @return [Elah::Store] of games and boards, and of scores unless they are kept elsewhere
    attr_reader :store
    # @return [Directory]
    attr_reader :directory
    # @return [Stores::Embedded] or another store with the same methods
    attr_reader :scores
    # @return [Elah::ApiKey, nil] nil when anybody may change and see everything
    attr_reader :api_key
    # @return [#now] seconds since 1970
    attr_reader :clock

    # @param store [Elah::Store]
    # @param scores [Stores::Embedded]
    # @param api_key [Elah::ApiKey, nil]
    # @param clock [#now]
    def initialize(store, scores:, api_key: nil, clock: Clock.new)
      @store = store
      @scores = scores
      @api_key = api_key
      @clock = clock
      @directory = Directory.new(store)
    end
  end
end

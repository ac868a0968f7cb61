# frozen_string_literal: true

require_relative "clock"
require_relative "directory"
require_relative "feeds"
require_relative "stores"
require_relative "tokens"

module Leaderboards
  class << self
    # @return [Service] the service of this process
    attr_accessor :service
  end

  # The parts of a running service.
  class Service
    # @return [Elah::Store] of games and boards, and of scores unless they are kept elsewhere
    attr_reader :store
    # @return [Directory]
    attr_reader :directory
    # @return [Stores::Embedded] or another store with the same methods
    attr_reader :scores
    # @return [Elah::ApiKey, nil] nil when anybody may change and see everything
    attr_reader :api_key
    # @return [Tokens, nil] nil if tokens are disabled
    attr_reader :tokens
    # @return [Feeds]
    attr_reader :feeds
    # @return [#now] seconds since 1970
    attr_reader :clock

    # @param store [Elah::Store]
    # @param scores [Stores::Embedded]
    # @param api_key [Elah::ApiKey, nil]
    # @param token_secret [String, nil] signs write tokens
    # @param feed_seconds [Integer] after which a listener of a feed must reconnect
    # @param clock [#now]
    def initialize(store, scores:, api_key: nil, token_secret: nil, feed_seconds: Feeds::SECONDS, clock: Clock.new)
      @store = store
      @scores = scores
      @api_key = api_key
      @clock = clock
      @tokens = token_secret && Tokens.new(token_secret, clock)
      @directory = Directory.new(store)
      @feeds = Feeds.new(scores, feed_seconds)
    end

    # Finishes what a killed process has left behind. Call it at the boot of a worker.
    def start
      @scores.start
      Elah.async(detached: true) { @directory.finish_removals { |definition| @scores.remove(definition) } }
    end
  end
end

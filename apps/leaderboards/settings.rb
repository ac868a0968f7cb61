# frozen_string_literal: true

require_relative "service"

module Leaderboards
  # The settings of the app: `leaderboards_api_key`, `leaderboards_token_secret`, `leaderboards_durability`,
  # `leaderboards_deadline_ms` and `leaderboards_feed_seconds`.
  module Settings
    DEADLINE_MS = (1..60_000).freeze
    FEED_SECONDS = (1..300).freeze

    class << self
      # @param settings [Elah::Settings]
      # @param config [Elah::Config]
      # @return [Service]
      # @raise [Elah::OptionError] when a setting has a wrong value
      def service(settings, config)
        key = settings[:leaderboards_api_key]
        store = Elah::Store.open(config.state("leaderboards"), bytes_max: config.store_bytes_max)
        Service.new(store, scores: scores(settings, config, store), api_key: key && Elah::ApiKey.new(key),
                           token_secret: token_secret(settings, key), clock: Clock.new(config.cluster && store),
                           feed_seconds: settings.integer(:leaderboards_feed_seconds, Feeds::SECONDS, FEED_SECONDS))
      end

      private

      def scores(settings, config, store)
        deadline = settings.integer(:leaderboards_deadline_ms, 150, DEADLINE_MS) / 1000.0
        durability = settings.choice(:leaderboards_durability, %w[disk memory]).to_sym
        Stores.open(Stores::Opening.new(store: config.store, embedded: store, durability: durability, deadline: deadline))
      end

      # The key identifies those who may issue tokens.
      def token_secret(settings, key)
        secret = settings[:leaderboards_token_secret] or return
        raise Elah::OptionError, "leaderboards_token_secret needs a leaderboards_api_key." unless key
        return secret if secret.bytesize >= Tokens::SECRET_BYTES_MIN

        raise Elah::OptionError, "leaderboards_token_secret must have at least #{Tokens::SECRET_BYTES_MIN} bytes, not #{secret.bytesize}."
      end
    end
  end
end

# frozen_string_literal: true

require_relative "service"

module Leaderboards
  # Owns the settings of the app: `leaderboards_api_key` and `leaderboards_durability`.
  module Settings
    DURABILITIES = %w[disk memory].freeze

    class << self
      # @param settings [Elah::Settings]
      # @param config [Elah::Config]
      # @return [Service]
      # @raise [Elah::OptionError] when a setting has a wrong value
      def service(settings, config)
        key = settings[:leaderboards_api_key]
        store = Elah::Store.open(File.join(config.data, "leaderboards"), bytes_max: config.store_bytes_max)
        Service.new(store, scores: Stores::Embedded.new(store, durability: durability(settings)), api_key: key && Elah::ApiKey.new(key))
      end

      private

      def durability(settings)
        value = settings.fetch(:leaderboards_durability, DURABILITIES.first).to_s
        return value.to_sym if DURABILITIES.include?(value)

        raise Elah::OptionError, "leaderboards_durability is #{DURABILITIES.join(' or ')}, not #{value}."
      end
    end
  end
end

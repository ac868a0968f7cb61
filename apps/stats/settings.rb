# frozen_string_literal: true

require_relative "service"

module Stats
  # Owns the settings of the app.
  module Settings
    DURABILITIES = %w[memory disk delivered].freeze

    class << self
      # @param settings [Elah::Settings]
      # @param config [Elah::Config]
      # @return [Service]
      # @raise [Elah::OptionError] when a setting has a wrong value
      def service(settings, config)
        key = settings[:stats_api_key]
        store = Elah::Store.open(File.join(config.data, "stats"), bytes_max: config.store_bytes_max)
        sink = Elah::Sink.new("stats", to: Elah::Sink::StoreTable.new(store, "events"))
        Service.new(store, sink, api_key: key && Elah::ApiKey.new(key), proxies: list(settings[:stats_trusted_proxies]),
                                 durability: choice(settings, :stats_durability, DURABILITIES).to_sym,
                                 addresses: choice(settings, :stats_addresses, Visitors::ADDRESSES))
      end

      private

      def choice(settings, name, choices)
        value = settings.fetch(name, choices.first).to_s
        return value if choices.include?(value)

        raise Elah::OptionError, "#{name} is #{choices.join(' or ')}, not #{value}."
      end

      def list(value) = value.to_s.split(/[,\s]+/)
    end
  end
end

# frozen_string_literal: true

require "etc"
require_relative "service"

module Stats
  # The settings of the app: names, valid values and defaults.
  module Settings
    DURABILITIES = %w[memory disk delivered].freeze
    RETENTION_DAYS = 1..3650
    INFLATED_BYTES = 1024..(1 << 30)
    BATCH_EVENTS = 1..1_000_000

    class << self
      # @param settings [Elah::Settings]
      # @param config [Elah::Config]
      # @return [Service]
      # @raise [Elah::OptionError] when a setting has a wrong value
      def service(settings, config)
        check_store(config.store)
        key = settings[:stats_api_key]
        store = Elah::Store.open(config.state("stats"), bytes_max: config.store_bytes_max)
        Service.new(store, destination: settings.fetch(:stats_destination, "store").to_s, api_key: key && Elah::ApiKey.new(key),
                           keys: Keys.parse(settings[:stats_keys]), durability: choice(settings, :stats_durability, DURABILITIES).to_sym,
                           addresses: choice(settings, :stats_addresses, Visitors::ADDRESSES), proxies: list(settings[:stats_trusted_proxies]),
                           origins: list(settings[:stats_origins]), machine: machine(config), **bounds(settings))
      end

      private

      # The machine with this data folder, if it is one of several.
      def machine(config)
        "#{config.cluster_node || Etc.uname[:nodename]} #{File.expand_path(config.data)}" if config.cluster
      end

      def check_store(store)
        return if store == "embedded"

        raise Elah::OptionError, "stats keeps its sums in the embedded store or on a cluster, so store cannot be a URL: " \
                                 "to send the events to a server, give its URL as --set stats_destination=URL."
      end

      def bounds(settings)
        { kept_seconds: integer(settings, :stats_retention_days, 30, RETENTION_DAYS) * 86_400,
          inflated_bytes_max: integer(settings, :stats_inflated_bytes_max, 10_485_760, INFLATED_BYTES),
          batch_events_max: integer(settings, :stats_batch_events_max, 10_000, BATCH_EVENTS) }
      end

      def choice(settings, name, choices)
        value = settings.fetch(name, choices.first).to_s
        return value if choices.include?(value)

        raise Elah::OptionError, "#{name} is #{choices.join(' or ')}, not #{value}."
      end

      def integer(settings, name, default, range)
        value = settings.fetch(name, default).to_s
        number = value.to_i
        return number if value.match?(/\A\d{1,10}\z/) && range.cover?(number)

        raise Elah::OptionError, "#{name} is a whole number from #{range.begin} to #{range.end}, not #{value}."
      end

      def list(value) = value.to_s.split(/[,\s]+/)
    end
  end
end

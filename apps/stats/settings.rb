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
                           keys: Keys.parse(settings[:stats_keys]), durability: settings.choice(:stats_durability, DURABILITIES).to_sym,
                           addresses: settings.choice(:stats_addresses, Visitors::ADDRESSES), proxies: settings.list(:stats_trusted_proxies),
                           origins: settings.list(:stats_origins), machine: machine(config), **bounds(settings))
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
        { kept_seconds: settings.integer(:stats_retention_days, 30, RETENTION_DAYS) * 86_400,
          inflated_bytes_max: settings.integer(:stats_inflated_bytes_max, 10_485_760, INFLATED_BYTES),
          batch_events_max: settings.integer(:stats_batch_events_max, 10_000, BATCH_EVENTS) }
      end
    end
  end
end

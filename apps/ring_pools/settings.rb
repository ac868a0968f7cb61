# frozen_string_literal: true

require_relative "service"

module RingPools
  # The settings of the app: `ring_pools_api_key`, `ring_pools_durability`, `ring_pools_deadline_ms` and
  # `ring_pools_history_days`.
  module Settings
    DEADLINE_MS = 1..60_000
    HISTORY_DAYS = 1..3650

    # @param settings [Elah::Settings]
    # @param config [Elah::Config]
    # @return [Service]
    # @raise [Elah::OptionError] when a setting has a wrong value
    def self.service(settings, config)
      key = settings[:ring_pools_api_key]
      store = Elah::Store.open(config.state("ring_pools"), bytes_max: config.store_bytes_max)
      Service.new(store, api_key: key && Elah::ApiKey.new(key), is_alone: config.workers == 1 && config.cluster.nil?,
                         durability: settings.choice(:ring_pools_durability, %w[disk memory]).to_sym,
                         deadline: settings.integer(:ring_pools_deadline_ms, 150, DEADLINE_MS) / 1000.0,
                         history_seconds: settings.integer(:ring_pools_history_days, 30, HISTORY_DAYS) * 86_400)
    end
  end
end

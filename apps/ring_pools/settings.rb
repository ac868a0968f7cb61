# frozen_string_literal: true

require_relative "service"

module RingPools
  # The settings of the app: `ring_pools_api_key`, `ring_pools_durability`, `ring_pools_deadline_ms` and
  # `ring_pools_history_days`.
  module Settings
    DURABILITIES = %w[disk memory].freeze
    DEADLINE_MS = 1..60_000
    HISTORY_DAYS = 1..3650

    class << self
      # @param settings [Elah::Settings]
      # @param config [Elah::Config]
      # @return [Service]
      # @raise [Elah::OptionError] when a setting has a wrong value
      def service(settings, config)
        key = settings[:ring_pools_api_key]
        store = Elah::Store.open(config.state("ring_pools"), bytes_max: config.store_bytes_max)
        is_alone = config.workers == 1 && config.cluster.nil?
        Service.new(store, api_key: key && Elah::ApiKey.new(key), durability: durability(settings), is_alone: is_alone,
                           deadline: integer(settings, :ring_pools_deadline_ms, 150, DEADLINE_MS) / 1000.0,
                           history_seconds: integer(settings, :ring_pools_history_days, 30, HISTORY_DAYS) * 86_400)
      end

      private

      def durability(settings)
        value = settings.fetch(:ring_pools_durability, DURABILITIES.first).to_s
        return value.to_sym if DURABILITIES.include?(value)

        raise Elah::OptionError, "ring_pools_durability is #{DURABILITIES.join(' or ')}, not #{value}."
      end

      def integer(settings, name, default, range)
        value = settings.fetch(name, default).to_s
        number = value.to_i
        return number if value.match?(/\A\d{1,9}\z/) && range.cover?(number)

        raise Elah::OptionError, "#{name} is a whole number from #{range.begin} to #{range.end}, not #{value}."
      end
    end
  end
end

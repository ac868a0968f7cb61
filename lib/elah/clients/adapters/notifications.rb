# frozen_string_literal: true

module Elah
  module Adapters
    # The events of ActiveSupport::Notifications that the endpoints of an Elah::API emit. Names and payloads are Grape's, because APM agents and log
    # subscribers listen to those.
    module Notifications
      RUN = "endpoint_run.grape"
      FILTERS = "endpoint_run_filters.grape"
      VALIDATORS = "endpoint_run_validators.grape"
      RENDER = "endpoint_render.grape"
      FORMAT = "format_response.grape"
      ALL = [RUN, FILTERS, VALIDATORS, RENDER, FORMAT].freeze

      # Prepended to the notifier. Each request asks whether anybody listens, so the result is kept until a subscription changes.
      module OfFanout
        def subscribe(...) = super.tap { @listens_to_endpoints = nil }
        def unsubscribe(...) = super.tap { @listens_to_endpoints = nil }

        # @return [Boolean] whether any of {ALL} has a subscriber
        def listens_to_endpoints?
          listens = @listens_to_endpoints
          listens.nil? ? @listens_to_endpoints = ALL.any? { |name| listening?(name) } : listens
        end
      end

      class << self
        # @return [Boolean] whether the library is loaded
        def install
          return false unless defined?(::ActiveSupport::Notifications::Fanout)

          fanout = ::ActiveSupport::Notifications::Fanout
          fanout.prepend(OfFanout) unless fanout < OfFanout
          true
        end

        # @return [Boolean] whether any of {ALL} has a subscriber
        def listening? = ::ActiveSupport::Notifications.notifier.listens_to_endpoints?

        # Runs the block between the start and the end of an event.
        #
        # @param name [String] one of {ALL}
        # @param payload [Hash]
        # @return [Object] the block's value
        def instrument(name, payload, &block) = ::ActiveSupport::Notifications.instrument(name, payload, &block)
      end
    end
  end
end

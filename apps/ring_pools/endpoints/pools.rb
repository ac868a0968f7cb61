# frozen_string_literal: true

require_relative "../forecast"
require_relative "support"

module RingPools
  module Endpoints
    # The routes of /pools: create, list, show with occupancy and forecast, change, delete.
    class Pools < Elah::API
      PAGE_MAX = 1000

      format :json
      helpers Support

      helpers do
        # @return [Hash] the pool and how it does
        def status_of(definition)
          report = pool(definition).report or return shown(definition)
          traffic = report[:traffic]
          asked = traffic[:allocations] + traffic[:overflows]
          { **shown(definition), **report.slice(:occupancy, :allocations, :overflows),
            overflow_rate: share(report[:overflows], report[:allocations] + report[:overflows]),
            next_free_at: Timestamp.format(report[:next_free_at]),
            last_hour: { seconds: traffic[:seconds].round(3), allocations: asked, overflows: traffic[:overflows],
                         overflow_rate: share(traffic[:overflows], asked) },
            forecast: forecast(definition, asked, traffic[:seconds]) }
        end

        def share(part, whole) = whole.zero? ? 0.0 : (part / whole.to_f).round(6)

        # @return [Hash, nil] at the rate that the client names, else at that of the last hour; nil before there is one
        def forecast(definition, asked, seconds)
          rate = params["allocations_per_hour"]&.then { |value| value / 3600.0 } || (seconds.positive? ? asked / seconds : nil)
          rate && Forecast.report(rate: rate, hold_seconds: definition.lifetime_seconds + definition.quarantine_seconds,
                                  numbers: definition.numbers.size, target: params["target"] || definition.target_overflow_share)
        end
      end

      namespace :pools do
        scope do
          before { authorize! }

          desc "Creates a pool"
          post do
            definition, = service.create(json_object)
            header "location", "http://#{request.host}/pools/#{definition.id}"
            shown(definition)
          end

          desc "Lists pools in the order of creation"
          params do
            optional :limit, type: Integer, default: 100, values: { value: 1..PAGE_MAX, message: "is a number from 1 to #{PAGE_MAX}" }
            optional :after, type: Integer, default: 0, values: { value: 0..999_999_999, message: "is the id of a pool" }
          end
          get do
            pools = directory.page(after: params["after"], limit: params["limit"])
            { pools: pools.map { |definition| shown(definition) }, next_after: pools.size == params["limit"] ? pools.last.id : nil }
          end

          desc "Changes a pool; removed numbers leave when their holds are over"
          put(":id") { shown(service.update(definition.id, json_object)) }

          desc "Ends a pool; held numbers stay with their holders"
          delete ":id" do
            gone = service.delete(definition)
            { leaving: gone.count { |_, gone_at| gone_at > service.clock.now }, gone_at: Timestamp.format(gone.values.max) }
          end
        end

        desc "Shows a pool: occupancy, overflow rate, when a number is free, and how many are needed"
        params do
          optional :allocations_per_hour, type: Float, values: { value: 0.0..1e9, message: "is a number from 0 to 1e9" }
          optional :target, type: Float, values: { value: 0.000001..0.99, message: "is a share from 0.000001 to 0.99" }
        end
        get ":id" do
          found = definition
          authorize_for!(found)
          status_of(found)
        end
      end
    end
  end
end

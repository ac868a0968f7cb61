# frozen_string_literal: true

require_relative "original"
require_relative "support"

module RingPools
  module Endpoints
    # The original's administration of pools: below a network, an advertiser and a campaign, by the network's own ID.
    class Network < Elah::API
      format :json
      helpers Support
      Original.rescue_errors(self)

      LIST_MAX = 1000
      PLACE_PART = /\A[^\s\/\x00-\x1f\x7f]+\z/
      PLACE_PART_BYTES_MAX = 100

      before { authorize! }

      helpers do
        # @return [Hash{Symbol=>String}]
        def place(id_from_network)
          values = [params["network_id"], params["advertiser_id"], params["campaign_id"], id_from_network]
          values.compact.each do |value|
            value.is_a?(String) && value.match?(PLACE_PART) && value.bytesize <= PLACE_PART_BYTES_MAX or
              raise Invalid.new("invalid_id", "An ID must have 1 to #{PLACE_PART_BYTES_MAX} bytes, without spaces and slashes.")
          end
          Definition::PLACE.zip(values).to_h.compact
        end

        def found(id_from_network)
          directory.find(place(id_from_network)) or
            raise NotFound.new("pool_not_found", "Could not find RingPool '#{id_from_network}'")
        end

        def send_json(status, value) = request.respond(status, Original::JSON_TYPE, Elah::JSON.generate(value))

        # @return [Hash] the fields that the original documents
        def original(definition)
          { id: definition.id, id_from_network: definition.id_from_network, name: definition.name, pool_type: definition.pool_type,
            lifetime_seconds: definition.lifetime_seconds, max_pool_size: definition.numbers.size, preferred: definition.preferred,
            allow_overflow: definition.allow_overflow, fill_immediately: true,
            destination_phone_number: national(definition.destination_phone_number),
            destination_url: definition.destination_url, tracking_url: definition.tracking_url,
            sample_api_url: "http://#{request.host}/api/#{params['version']}/ring_pools/#{definition.id}/allocate_number.json?" \
                            "ring_pool_key=#{definition.api_key}",
            api_key: definition.api_key, **Definition::PARAMETERS.to_h { |name| [name, definition.public_send(name) || ""] } }
        end

        def national(number) = number && E164.national(number)

        def body_fields
          body = Elah::JSON.parse(request.body)
          body.is_a?(Hash) ? body : raise(Invalid.new("invalid_body", "The body must be a JSON object."))
        rescue Elah::JSON::ParseError => e
          raise Invalid.new("invalid_body", e.message)
        end
      end

      CAMPAIGN = "api/:version/:network_id/advertisers/:advertiser_id/advertiser_campaigns/:campaign_id"
      DATE = { version: /\d{4}-\d\d-\d\d/ }.freeze
      POOL = { **DATE, id: %r{[^/]+?} }.freeze

      desc "Lists the pools of a campaign"
      get "#{CAMPAIGN}/ring_pools.json", raw: true, requirements: DATE do
        send_json(200, directory.at(place(nil), limit: LIST_MAX).map { |definition| original(definition) })
      end

      desc "Shows a pool"
      get "#{CAMPAIGN}/ring_pools/:id.json", raw: true, requirements: POOL do
        send_json(200, original(found(params["id"])))
      end

      desc "Creates a pool, or changes an existing one"
      post "#{CAMPAIGN}/ring_pools.json", raw: true, requirements: DATE do
        given = body_fields
        definition, is_new = service.create(given, place(given["id_from_network"].to_s))
        send_json(is_new ? 201 : 200, original(definition))
      end

      desc "Changes a pool"
      put "#{CAMPAIGN}/ring_pools/:id.json", raw: true, requirements: POOL do
        send_json(200, original(service.update(found(params["id"]).id, body_fields)))
      end

      desc "Deletes a pool; held numbers stay with their holders"
      delete "#{CAMPAIGN}/ring_pools/:id.json", raw: true, requirements: POOL do
        service.delete(found(params["id"]))
        send_json(200, {})
      end
    end
  end
end

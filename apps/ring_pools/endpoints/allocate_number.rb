# frozen_string_literal: true

require_relative "../allocation_text"
require_relative "original"
require_relative "support"

module RingPools
  module Endpoints
    # The original's RingPool API: one number of one pool, as XML, JSON or CSV.
    class AllocateNumber < Elah::API
      format :json
      helpers Support

      NOT_FOR_BULK = "Numbers are automatically allocated by the PNAPI server"

      rescue_from(Failure) { |e| send_failure(e.error_class == "InvalidKey" ? 401 : 404, e.error_class, e.message) }
      rescue_from(Invalid) { |e| send_failure(e.status == 404 ? 404 : 403, e.original_class, e.message) }
      rescue_from(Elah::API::Exceptions::MethodNotAllowed) { |e| send_failure(405, "MethodNotAllowed", e.detail, "allow" => e.headers["allow"]) }
      rescue_from(StandardError) { |e| send_failure(500, "InternalServiceError", Failure.handle(e).to_s) }

      helpers do
        def text = AllocationText.new(request.route_param("format"))

        def send_failure(status, error_class, message, headers = {})
          format = AllocationText.new(request.route_param("format"))
          request.respond(status, { "content-type" => format.error_type, **headers }, format.error(error_class, message))
        end

        def send_lease(definition, lease)
          number = lease[:number]
          return send_failure(503, "NoNumberAvailable", "No number of RingPool '#{definition.id}' is free (#{lease[:reason]})") unless number

          headers = { "content-type" => text.type }
          headers["overflow-reasons"] = "#{lease[:reason]}=1" if lease[:kind] == :overflow
          request.respond(200, headers, text.number(definition, number))
        end
      end

      PARTS = { version: /\d{4}-\d\d-\d\d/, id: /\d{1,9}/, format: /xml|json|csv/ }.freeze

      desc "Allocates a number"
      get "api/:version/ring_pools/:id/allocate_number.:format", raw: true, requirements: PARTS do
        entry = directory[request.route_param("id").to_i]
        raise Failure.new("RecordNotFound", "Could not find RingPool '#{request.route_param('id')}'") unless entry

        definition = entry.definition
        key, parameters = Credentials.split(request.query_string.to_s)
        Credentials.check(definition, key || Credentials.header(request), service.api_key)
        if definition.bulk_only
          next request.respond(403, Original::JSON_TYPE, Original.errors("OnlyBulkNumberAllocationAllowed", NOT_FOR_BULK))
        end
        raise Invalid.new("invalid_parameters", Credentials::PARAMETERS_RULE) if parameters.bytesize > Credentials::PARAMETERS_BYTES_MAX

        send_lease(definition, service.allocate(entry, entry.session(parameters), parameters))
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../schemas"
require_relative "../batch"
require_relative "support"

module Stats
  module Endpoints
    # The schemas of events, and the events that did not match.
    class SchemaResources < Elah::API
      # Levels of a definition; the list of all definitions adds some.
      DEPTH_MAX = 90

      format :json
      helpers Support

      before { authorize! }

      helpers do
        def shown(schema) = { name: schema.name, version: schema.version, schema: schema.definition }
        def no_schema!(name) = error!("There is no schema #{name}.", 404, code: "schema_not_found")
      end

      desc "Lists the schemas"
      get(:schemas) { { schemas: service.schemas.all.map { |_, schema| shown(schema) } } }

      desc "Shows the schema of the events of this name"
      get "schemas/:name", requirements: { name: %r{[^/]+} } do
        name = params[:name]
        shown(service.schemas[name] || no_schema!(name))
      end

      desc "Creates or changes the schema; parked events that now match are delivered under their old IDs"
      put "schemas/:name", requirements: { name: %r{[^/]+} } do
        definition = Elah::JSON.parse(request.body, depth_max: DEPTH_MAX)
        schema = service.schemas.put(params[:name], definition)
        { **shown(schema), released: service.parked.release(schema.name) }
      rescue Elah::JSON::ParseError => e
        raise Refused.new("invalid_body", e.message, 400)
      end

      desc "Deletes the schema; parked events are delivered"
      delete "schemas/:name", requirements: { name: %r{[^/]+} } do
        name = params[:name]
        service.schemas.delete(name) or no_schema!(name)
        { released: service.parked.release(name) }
      end

      desc "Lists parked events with the reasons"
      params do
        optional :limit, type: Integer, values: 1..1000, default: 100
        optional :after, type: String, regexp: Batch::UUID
      end
      get :parked do
        events = service.parked.page(after: params[:after], limit: params[:limit])
        { events: events, next_after: (events.last[:id] if events.size == params[:limit]) }
      end
    end
  end
end

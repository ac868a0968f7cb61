# frozen_string_literal: true

require "elah/api"
require_relative "service"
require_relative "endpoints/health"
require_relative "endpoints/collect"
require_relative "endpoints/batches"
require_relative "endpoints/browsers"
require_relative "endpoints/segment"
require_relative "endpoints/rollups"
require_relative "endpoints/schemas"
require_relative "endpoints/visitors"
require_relative "endpoints/live"

module Stats
  # All routes of the collector, and the mapping of its errors to responses.
  class API < Elah::API
    error_format :problem
    Endpoints::Support.rescue_errors(self)

    mount Endpoints::Collect
    mount Endpoints::Batches
    mount Endpoints::Browsers
    mount Endpoints::Segment
    mount Endpoints::RollupQueries
    mount Endpoints::SchemaResources
    mount Endpoints::VisitorResources
    mount Endpoints::Health
    mount Endpoints::Live
  end
end

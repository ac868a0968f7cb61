# frozen_string_literal: true

require "elah/api"
require_relative "service"
require_relative "endpoints/health"
require_relative "endpoints/collect"

module Stats
  # All routes of the collector.
  class API < Elah::API
    error_format :problem

    mount Endpoints::Collect
    mount Endpoints::Health
  end
end

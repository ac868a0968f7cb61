# frozen_string_literal: true

require "elah/api"
require_relative "service"
require_relative "endpoints/health"
require_relative "endpoints/bulk"
require_relative "endpoints/allocate_number"
require_relative "endpoints/network"
require_relative "endpoints/pools"
require_relative "endpoints/leases"
require_relative "endpoints/numbers"

module RingPools
  class << self
    # @return [Service] what this process serves
    attr_accessor :service
  end

  # All routes of the allocator: the original's below /api, today's beside it.
  class API < Elah::API
    error_format :problem

    mount Endpoints::Health
    mount Endpoints::Bulk
    mount Endpoints::AllocateNumber
    mount Endpoints::Network
    mount Endpoints::Pools
    mount Endpoints::Leases
    mount Endpoints::Numbers
  end
end

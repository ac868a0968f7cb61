# frozen_string_literal: true

require "elah/api"
require_relative "../health"
require_relative "service"
require_relative "endpoints/bulk"
require_relative "endpoints/allocate_number"
require_relative "endpoints/network"
require_relative "endpoints/pools"
require_relative "endpoints/leases"
require_relative "endpoints/numbers"

module RingPools
  class << self
    # @return [Service] the service of this process
    attr_accessor :service
  end

  # All routes of the allocator: the original's below /api, and the current ones. The error responses here apply to all but the
  # original's.
  class API < Elah::API
    error_format :problem
    rescue_from(Invalid) { |e| error!(e.message, e.status, code: e.code) }

    mount(Health.api { { pools: RingPools.service.directory.size, clock_offset_seconds: RingPools.service.clock.offset.round(3) } })
    mount Endpoints::Bulk
    mount Endpoints::AllocateNumber
    mount Endpoints::Network
    mount Endpoints::Pools
    mount Endpoints::Leases
    mount Endpoints::Numbers
  end
end

# frozen_string_literal: true

module RingPools
  module Endpoints
    # The health checks of load balancers and supervisors.
    class Health < Elah::API
      format :json

      desc "Reports that the process runs"
      get(:livez) { { status: "alive" } }

      desc "Reports that the store responds and accepts writes"
      get :readyz do
        Elah::Store.check_ready
        service = RingPools.service
        { status: "ready", pools: service.directory.size, clock_offset_seconds: service.clock.offset.round(3) }
      end
    end
  end
end

# frozen_string_literal: true

module RingPools
  module Endpoints
    # Owns what load balancers and supervisors ask.
    class Health < Elah::API
      format :json

      desc "Tells that the process answers"
      get(:livez) { { status: "alive" } }

      desc "Tells that the store answers too, and takes writes"
      get :readyz do
        Elah::Store.check_ready
        service = RingPools.service
        { status: "ready", pools: service.directory.size, clock_offset_seconds: service.clock.offset.round(3) }
      end
    end
  end
end

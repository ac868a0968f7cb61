# frozen_string_literal: true

module Leaderboards
  module Endpoints
    # The health checks of load balancers and supervisors.
    class Health < Elah::API
      format :json

      desc "Reports that the process runs"
      get(:livez) { { status: "alive" } }

      desc "Reports that the store responds and accepts writes"
      get :readyz do
        Elah::Store.check_ready
        { status: "ready", leaderboards: Leaderboards.service.directory.size }
      end
    end
  end
end

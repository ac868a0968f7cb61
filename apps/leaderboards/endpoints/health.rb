# frozen_string_literal: true

module Leaderboards
  module Endpoints
    # Owns what load balancers and supervisors ask.
    class Health < Elah::API
      format :json

      desc "Tells that the process answers"
      get(:livez) { { status: "alive" } }

      desc "Tells that the store answers too, and takes writes"
      get :readyz do
        Elah::Store.check_ready
        { status: "ready", leaderboards: Leaderboards.service.directory.size }
      end
    end
  end
end

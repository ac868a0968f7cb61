# frozen_string_literal: true

require_relative "support"

module Items
  module Endpoints
    # The health checks of load balancers and supervisors.
    class Health < Elah::API
      format :json
      helpers Support

      desc "Reports that the process runs"
      get(:livez) { { status: "alive" } }

      desc "Reports that the store responds and accepts writes"
      get :readyz do
        Elah::Store.check_ready
        { status: "ready", items: Items.service.store.size }
      end
    end
  end
end

# frozen_string_literal: true

module Links
  module Endpoints
    # Owns what load balancers and supervisors ask.
    class Health < Elah::API
      format :json

      desc "Tells that the process answers"
      get(:livez) { { status: "alive" } }

      desc "Tells that the store answers too, and takes writes"
      get :readyz do
        Elah::Store.check_ready
        Links.service.store.size
        { status: "ready" }
      end
    end
  end
end

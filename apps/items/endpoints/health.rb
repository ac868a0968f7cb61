# frozen_string_literal: true

require_relative "support"

module Items
  module Endpoints
    # Owns what load balancers and supervisors ask.
    class Health < Elah::API
      format :json
      helpers Support

      desc "Tells that the process answers"
      get(:livez) { { status: "alive" } }

      desc "Tells that the store answers too, and takes writes"
      get :readyz do
        Elah::Store.check_ready
        { status: "ready", items: Items.service.store.size }
      end
    end
  end
end

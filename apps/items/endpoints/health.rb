# frozen_string_literal: true

module Items
  module Endpoints
    # Owns what load balancers and supervisors ask.
    class Health < Elah::API
      format :json

      desc "Tells that the process answers"
      get(:livez) { { status: "alive" } }

      desc "Tells that the store answers too, and takes writes"
      get :readyz do
        Elah::Store.trouble&.then { |trouble| error!(trouble, 503, code: "store_unavailable") }
        { status: "ready", items: Items.service.store.size }
      end
    end
  end
end

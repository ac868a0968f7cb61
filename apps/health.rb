# frozen_string_literal: true

# The health checks of load balancers and supervisors, which the apps share.
module Health
  # @yieldreturn [Hash{Symbol=>Object}] members of the response when the app is ready; raises if the app's store does not respond
  # @return [Class] an API with the routes /livez and /readyz
  def self.api(&details)
    Class.new(Elah::API) do
      format :json

      desc "Reports that the process runs"
      get(:livez) { { status: "alive" } }

      desc "Reports that the store responds and accepts writes"
      get :readyz do
        Elah::Store.check_ready
        { status: "ready", **details.call }
      end
    end
  end
end

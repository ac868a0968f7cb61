# frozen_string_literal: true

require "elah/api"
require_relative "../health"
require_relative "service"
require_relative "endpoints/original"
require_relative "endpoints/random"
require_relative "endpoints/resources"

module Items
  class << self
    # @return [Service] the service of this process
    attr_accessor :service
  end

  # All routes of the random-item API.
  class API < Elah::API
    error_format :problem

    mount(Health.api { { items: Items.service.store.size } })
    mount Endpoints::Random
    mount Endpoints::Resources
    mount Endpoints::Original
  end
end

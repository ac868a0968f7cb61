# frozen_string_literal: true

require "elah/api"
require_relative "../health"
require_relative "service"
require_relative "endpoints/resources"
require_relative "endpoints/transfers"
require_relative "endpoints/qr_codes"
require_relative "endpoints/visits"

module Links
  class << self
    # @return [Service] the service of this process
    attr_accessor :service
  end

  # All routes of the shortener, and the mapping of its errors to responses.
  class API < Elah::API
    error_format :problem
    rescue_from(Invalid) { |e| error!(e.message, 422, code: e.code) }

    mount(Health.api { Links.service.store.size && {} })
    mount Endpoints::Resources
    mount Endpoints::Transfers
    mount Endpoints::QrCodes
    mount Endpoints::Visits
  end
end

# frozen_string_literal: true

require_relative "../errors"
require_relative "../failure"

module RingPools
  module Endpoints
    # The errors of the original's API: a class and the invalid data, 403 for every invalid argument.
    module Original
      JSON_TYPE = { "content-type" => "application/json" }.freeze
      STATUSES = { 422 => 403, 409 => 403 }.freeze

      class << self
        # @param error_class [String]
        # @param message [String]
        # @param more [Hash] members
        # @return [String]
        def errors(error_class, message, **more)
          Elah::JSON.generate({ errors: { class: error_class, invalid_data: message, **more } })
        end

        # @param api [Class]
        def rescue_errors(api)
          api.rescue_from(Invalid) do |e|
            request.respond(STATUSES.fetch(e.status, e.status), JSON_TYPE, Original.errors(e.original_class, e.message))
          end
          api.rescue_from(Elah::API::Exceptions::MethodNotAllowed) do |e|
            request.respond(405, { **JSON_TYPE, "allow" => e.headers["allow"] }, Original.errors("MethodNotAllowed", e.detail))
          end
          api.rescue_from(Elah::API::Exceptions::Base) { |e| request.respond(403, JSON_TYPE, Original.errors("RecordInvalid", e.detail)) }
          api.rescue_from(StandardError) do |e|
            handle = Failure.handle(e)
            request.respond(500, JSON_TYPE, Original.errors("InternalServiceError", "Error handle: #{handle}", error_handle: handle))
          end
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../archive"
require_relative "../batch"
require_relative "../visitors"
require_relative "support"

module Stats
  module Endpoints
    # The rights of a visitor: to see the stored data, and to have it erased.
    class VisitorResources < Elah::API
      format :json
      helpers Support

      EVENTS_MAX = 1000

      helpers do
        # @return [String] the visitor that the path names: an id, or `user:NAME` for a user by the sender's name
        def visitor
          named = params[:visitor]
          return Visitors.of_user(named.delete_prefix("user:")) if named.start_with?("user:")

          Archive::VISITOR.match?(named) or raise Refused.new("invalid_visitor", "A visitor must be 32 hexadecimal digits, or user:NAME.")
          named.downcase
        end
      end

      desc "Shows the visitor IDs of this client for yesterday and today"
      get "visitors/me" do
        address = service.client_address.of_request(request)
        today = service.salts.day
        { visitors: [today - 1, today].filter_map { |day| service.visitors.id(address, request.header("user-agent"), day) } }
      end

      desc "Shows the stored data of a visitor"
      params { optional :after, type: String, regexp: Batch::UUID }
      get "visitors/:visitor", requirements: { visitor: %r{[^/]+} } do
        authorize!
        { visitor: visitor, events: service.archive.of_visitor(visitor, after: params[:after], limit: EVENTS_MAX) }
      end

      desc "Erases a visitor"
      delete "visitors/:visitor", requirements: { visitor: %r{[^/]+} } do
        authorize!
        { visitor: visitor, erased: service.erasure.erase(visitor) }
      end
    end
  end
end

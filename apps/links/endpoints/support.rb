# frozen_string_literal: true

require_relative "../codes/custom"
require_relative "../presenter"

module Links
  module Endpoints
    # Helpers shared by the endpoints under /links: authorization and path parameters.
    module Support
      include Elah::ApiKey::Authorization

      def service = Links.service
      def store = service.store

      # Ends the request with 401 unless it has the API key, if one is set.
      def authorize! = service.api_key.nil? || super(service.api_key, realm: "links")

      # @return [String, nil] what the Host header says
      def host = @host ||= request.header("host")

      def own_places = service.own_places(host)

      # @return [Presenter]
      def presenter = @presenter ||= Presenter.new(service.base_url(host))

      # @param link [Link]
      # @return [Hash]
      def shown(link) = presenter.show(link, store.visits(link.code))

      # @return [String] the code that the path names; the request ends with 404 when no link can have it
      def code
        given = params["code"]
        Codes::Custom.possible?(given) ? given : no_link!(given)
      end

      def no_link!(code) = error!("There is no link with the code #{code[0, 64]}.", 404, code: "link_not_found")
    end
  end
end

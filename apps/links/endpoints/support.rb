# frozen_string_literal: true

require_relative "../codes/custom"
require_relative "../presenter"

module Links
  module Endpoints
    # Owns what the endpoints under /links share: who may call them, and how they name a link.
    module Support
      include Elah::ApiKey::Authorization

      def service = Links.service
      def store = service.store

      # Ends the request with 401 unless the key that is set, if one is, comes with it.
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

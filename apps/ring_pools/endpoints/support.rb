# frozen_string_literal: true

require_relative "../credentials"
require_relative "../definition"
require_relative "../errors"
require_relative "../timestamp"

module RingPools
  module Endpoints
    # Helpers shared by the current API's endpoints: authorization and path parameters.
    module Support
      include Elah::ApiKey::Authorization

      ID = /\A\d{1,9}\z/

      def service = RingPools.service
      def directory = service.directory.tap(&:refresh)

      # Ends the request with 401 unless it has the key of the service, if one is set.
      def authorize!(*keys) = service.api_key.nil? || super(service.api_key, *keys, realm: "ring_pools")

      # Also accepts the key of the pool.
      #
      # @param definition [Definition]
      def authorize_for!(definition) = service.api_key.nil? || authorize!(Elah::ApiKey.new(definition.api_key))

      def offered_key = Credentials.header(request)

      # @return [Definition] of the pool that the path names
      def definition
        id = params["id"].to_s
        raise NotFound.new("pool_not_found", "There is no pool #{id}.") unless id.match?(ID)

        directory.fetch(id.to_i)
      end

      # @return [Elah::Entity::Reference]
      def pool(definition) = service.pools[definition.id]

      # @param definition [Definition]
      # @return [Hash] as clients see it
      def shown(definition)
        fields = definition.to_h.except(:max_pool_size, *Definition::PLACE, *Definition::PARAMETERS).compact
        { **fields, numbers: definition.numbers.map { |number| E164.format(number) }, overflow_number: show_number(definition.overflow_number),
                    destination_phone_number: show_number(definition.destination_phone_number) }.compact
      end

      def show_number(number) = number && E164.format(number)
    end
  end
end

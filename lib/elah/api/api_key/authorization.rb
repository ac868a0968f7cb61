# frozen_string_literal: true

module Elah
  class ApiKey
    # Helpers of an {Elah::API} whose endpoints ask for a key.
    #
    #   class Orders < Elah::API
    #     KEY = Elah::ApiKey.new(ENV.fetch("API_KEY"))
    #     helpers Elah::ApiKey::Authorization
    #     before { authorize!(KEY, realm: "orders") }
    #   end
    module Authorization
      HOW = "Send the key as Authorization: Bearer KEY or as X-Api-Key: KEY."
      private_constant :HOW

      # Ends the request with 401 unless one of the keys came with it.
      #
      # @param keys [Array<ApiKey>]
      # @param realm [String] what the keys are for, without quotes
      # @raise [Elah::Framework::Halt]
      # @raise [TypeError] when one of the keys is no {ApiKey}
      def authorize!(*keys, realm:) = authorized?(*keys) || unauthorized!(realm: realm)

      # @param keys [Array<ApiKey>]
      # @return [Boolean] whether one of them came with the request
      # @raise [TypeError] when one of the keys is no {ApiKey}: the `match?` of a String would take the client's key as a pattern
      def authorized?(*keys)
        keys.each do |key|
          raise TypeError, "A key must be an Elah::ApiKey, not #{key.class}: wrap it in Elah::ApiKey.new(...)." unless key.is_a?(ApiKey)
        end

        offered = offered_key
        keys.any? { |key| key.match?(offered) }
      end

      # Ends the request with 401, and tells the client how to send a key.
      #
      # @param realm [String] what the keys are for, without quotes
      # @raise [Elah::Framework::Halt]
      def unauthorized!(realm:)
        error!(HOW, 401, { "www-authenticate" => %(Bearer realm="#{realm}") }, code: "unauthorized")
      end

      # @return [String, nil] the key in the request; an API with its own header overrides this method
      def offered_key = ApiKey.offered(request)
    end
  end
end

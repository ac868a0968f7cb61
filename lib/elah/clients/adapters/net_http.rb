# frozen_string_literal: true

module Elah
  module Adapters
    # The Net::HTTP adapter: a request that is ended by `Timeout.timeout` closes its connection. Net::HTTP does so after a StandardError only, and
    # that is none: the next request on a kept connection, such as one of a pool, would read the response to this one.
    module NetHTTP
      # @return [Boolean] whether the library is loaded
      def self.install
        return false unless defined?(::Net::HTTP)

        ::Net::HTTP.prepend(Closing)
        true
      end

      # Stands before Net::HTTP.
      module Closing
        private

        def transport_request(...)
          super
        rescue Exception
          @socket&.close
          raise
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../offload"

module Elah
  module Adapters
    # Owns how mysql2 runs on the loop. Its queries wait through Ruby; to connect and to ping it waits in C, for as long as a server
    # is silent. So a thread connects, and a ping is a query.
    module Mysql2
      # Threads that connect; of their own, so that a silent server takes none from other work.
      CONNECTING_MAX = 16

      class << self
        # @return [Boolean] whether the gem is loaded
        def install
          return false unless defined?(::Mysql2::Client)

          ::Mysql2::Client.prepend(Cooperation) unless ::Mysql2::Client < Cooperation
          true
        end

        # @return [Elah::Offload::Pool]
        def pool = @pool ||= Offload::Pool.new(threads: CONNECTING_MAX, name: "elah mysql2")
      end

      # What is prepended to Mysql2::Client.
      module Cooperation
        # The cheapest statement that has no result.
        PING = "DO 0"

        # @return [Boolean] whether the server answers
        def ping
          return super unless Elah.current_loop
          return false if closed?

          query(PING)
          true
        rescue ::Mysql2::Error
          false
        end

        private

        def connect(*) = Mysql2.pool.call { super }
      end
    end
  end
end

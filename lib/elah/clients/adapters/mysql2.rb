# frozen_string_literal: true

module Elah
  module Adapters
    # The mysql2 adapter. Its queries wait through Ruby. Connecting and pinging block in C while the server is silent. So a thread connects, and a
    # ping is a query.
    module Mysql2
      # Number of threads that connect to one server. They are separate, so that a silent server takes no threads from other work.
      CONNECTING_MAX = 16

      class << self
        # @return [Boolean] whether the gem is loaded
        def install
          return false unless defined?(::Mysql2::Client)

          ::Mysql2::Client.prepend(ClientPatch) unless ::Mysql2::Client < ClientPatch
          true
        end

        # @param address [Array] of a server
        # @return [Elah::Offload::Pool]
        def pool(address) = (@pools ||= {})[address] ||= Offload::Pool.new(threads: CONNECTING_MAX, name: "elah mysql2")
      end

      # Prepended to Mysql2::Client.
      module ClientPatch
        # The cheapest statement that has no result.
        PING = "DO 0"

        # @return [Boolean] whether the server responds
        def ping
          return super unless Elah.current_loop
          return false if closed?

          query(PING)
          true
        rescue ::Mysql2::Error
          false
        end

        private

        # Arguments are user, password, host, port, database and socket.
        def connect(*arguments) = Mysql2.pool(arguments.values_at(2, 3, 5)).call { super }
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  module Adapters
    # The excon adapter: each call has its own socket. Excon keeps one for each thread, so fibers that share a connection would read each other's
    # responses.
    module Excon
      # Maximum number of sockets that a connection with `persistent: true` keeps between calls.
      IDLE_MAX = 64

      # @return [Boolean] whether the gem is loaded
      def self.install
        return false unless defined?(::Excon::Connection)

        ::Excon::Connection.prepend(SocketPerCall)
        true
      end

      # Stands before Excon::Connection.
      module SocketPerCall
        def request(params = {}, &block)
          # All fibers would share it. Here a socket is kept only when its response has been read.
          @persistent_socket_reusable = true if Elah.current_loop
          with_own_socket { super }
        end

        def requests(pipeline_params) = with_own_socket { super }

        # Closes also the sockets that no call uses, unless a call itself closes its own.
        def reset
          super
          with_own_socket { reset } until calling? || idle_sockets.empty?
        end

        private

        def with_own_socket
          return yield if calling? || !Elah.current_loop

          fiber = Fiber.current
          begin
            (@elah_calls ||= {}.compare_by_identity)[fiber] = idle_sockets.pop || {}
            result = yield
            is_read = !result.is_a?(Hash) # a Hash is a pipelined request, whose response nobody has read
            result
          ensure
            reset unless is_read && idle_sockets.size < IDLE_MAX
            own = @elah_calls.delete(fiber)
            idle_sockets << own unless own.empty?
          end
        end

        def calling? = @elah_calls&.key?(Fiber.current)

        def sockets = @elah_calls&.[](Fiber.current) || super

        # A fork has none of its parent's.
        def idle_sockets = (@elah_idle ||= Hash.new { |idle, process_id| idle.clear[process_id] = [] })[Process.pid]
      end
    end
  end
end

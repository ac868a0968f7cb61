# frozen_string_literal: true

module Elah
  module Adapters
    # The ActionController adapter: an action of ActionController::Live, which runs in a thread of its own, ends with its request. Rails takes it for
    # granted that every response is sent, and would leave the thread waiting for a reader.
    module ActionController
      # @return [Boolean] whether the gem is loaded
      def self.install
        return false unless defined?(::ActionController::Live)

        ErrorMapping.register_with_rails
        ::ActionController::Live.prepend(Ending)
        ::ActionController::Live::Buffer.prepend(Abort)
        true
      end

      # Stands before ActionController::Live.
      module Ending
        # @param action [String]
        def process(action)
          super
        rescue Exception # -- also what ends a request that waits for the head: nobody will read the stream
          response.stream.abort
          raise
        end
      end

      # Stands before ActionController::Live::Buffer. Rails takes the buffer's monitor, which an action holds while it waits in `close` for room.
      module Abort
        def abort
          @aborted = true # before there is room: what is written then is refused
          @buf.clear
        end
      end
    end
  end
end

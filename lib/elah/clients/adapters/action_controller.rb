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

      # The stream is aborted at the end of the request at the latest: middleware such as Rack::ETag reads it before it returns a body that the server
      # could close, and is cancelled there.
      #
      # @param stream [ActionController::Live::Buffer, #each] a file is no Buffer, and needs no end
      # @return [void]
      def self.end_with_request(stream)
        Elah.current_task&.root&.at_end { stream.abort } if stream.is_a?(::ActionController::Live::Buffer)
      end

      # Stands before ActionController::Live.
      module Ending
        # @param action [String]
        def process(action)
          super.tap { Adapters::ActionController.end_with_request(response.stream) }
        rescue Exception # -- also what ends a request that waits for the head: nobody will read the stream
          response.stream.abort if response.stream.is_a?(::ActionController::Live::Buffer)
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

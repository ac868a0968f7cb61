# frozen_string_literal: true

require_relative "../../errors"

module Elah
  # The errors of the Redis client. A server that is unreachable, late or busy raises {Unavailable} or {QueryTimeout}.
  class Redis < Clients::Redis
    # The server refused a command.
    class Error < Elah::Error
      # @return [String] the first word of what the server said, as `WRONGTYPE`
      attr_reader :code

      # @param message [String]
      # @param code [String]
      def initialize(message, code = "ERR")
        super(message)
        @code = code
      end
    end

    # The client was closed before.
    class Closed < Elah::Error; end
  end
end

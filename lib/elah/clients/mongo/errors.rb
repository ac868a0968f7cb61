# frozen_string_literal: true

# The errors of the MongoDB client. A server that does not respond raises Elah::Unavailable, Elah::PoolExhausted or Elah::QueryTimeout, as with the
# other clients.
module Elah
  class Mongo
    # Root of the client's errors when a server does reply, or no server is called.
    class Error < Elah::Error; end

    # The client has been closed.
    class Closed < Error; end

    # A value has no form in BSON, a document is too large, or an operation cannot be sent as it is. Nothing has been sent.
    class InvalidValue < Error; end

    # The server's reply cannot be read, or has a value that Ruby cannot represent.
    class InvalidReply < Error; end

    # The server replied with an error.
    class Refused < Error
      # @return [Integer] the server's number of the error
      attr_reader :server_code

      # @return [String] the server's name of the error; may be empty
      attr_reader :server_code_name

      # @return [Array<Array(Integer, Integer, String)>] what failed of a write of many documents: for each its place, the
      #   server's number and the server's words
      attr_reader :write_errors

      # @api private
      def initialize(message, server_code, server_code_name, write_errors)
        super(message)
        @server_code = server_code
        @server_code_name = server_code_name
        @write_errors = write_errors
      end
    end

    # The server refused a write, or a part of a write of many.
    class WriteFailed < Refused; end

    # A unique index has such a key already.
    class DuplicateKey < WriteFailed; end

    # The server rejects the user or the password, so no operation is possible.
    class AuthenticationFailed < Unavailable; end
  end
end

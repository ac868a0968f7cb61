# frozen_string_literal: true

# Owns the errors of the client of MongoDB's protocol that no other client has. That a server does not answer is
# Elah::Unavailable, Elah::PoolExhausted and Elah::QueryTimeout, as everywhere.
module Elah
  class Mongo
    # The root of what the client raises when a server does answer, or is never asked.
    class Error < Elah::Error; end

    # The client has been closed.
    class Closed < Error; end

    # A value has no form in BSON, a document is too large, or an operation cannot be sent as it is. Nothing has been sent.
    class InvalidValue < Error; end

    # The answer of the server cannot be read, or holds what has no form in Ruby.
    class BadAnswer < Error; end

    # The server answered with an error.
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

    # The server does not take the user and the password, so that nothing can be asked of it.
    class AuthenticationFailed < Unavailable; end
  end
end

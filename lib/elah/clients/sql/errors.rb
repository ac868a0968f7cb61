# frozen_string_literal: true

module Elah
  class SQL
    # The server replied with an error, or the call is invalid. The message names the server and the statement, but no parameters. A server that
    # does not reply at all raises {Elah::Unavailable} instead.
    class Error < Elah::Error
      # @return [String, nil] the five characters of the SQL standard; nil when the error is not the server's
      attr_reader :sqlstate

      # @return [Integer, nil] MySQL's and MariaDB's number
      attr_reader :number

      # @return [String] the stable code of the problem
      def code = "sql_error"

      private

      # The native side fills it in.
      def refused_with(sqlstate, number)
        @sqlstate = sqlstate
        @number = number
      end
    end

    # The row is there already.
    class UniqueViolation < Error
      # @return [String]
      def code = "unique_violation"
    end

    # The row refers to one that is not there, or is referred to.
    class ForeignKeyViolation < Error
      # @return [String]
      def code = "foreign_key_violation"
    end

    # A deadlock, a lost race between transactions, or a lock that was not had in time: run the transaction again.
    class SerializationFailure < Error
      # @return [String]
      def code = "serialization_failure"
    end

    # The transaction was rolled back instead of committed, because a statement in it had failed and the block rescued the error. The message has that
    # error; {#sqlstate} and {#number} are its own. To go on after an error, run the statement in a `transaction` inside the transaction.
    class RolledBack < Error
      # @return [String]
      def code = "transaction_rolled_back"
    end

    # The statement does not parse, or names a table or a column that is not there.
    class SyntaxError < Error
      # @return [String]
      def code = "syntax_error"
    end

    # The user, the password or the database is wrong.
    class AuthenticationFailed < Error
      # @return [String]
      def code = "authentication_failed"
    end

    # Somebody has ended the statement on the server.
    class Cancelled < Error
      # @return [String]
      def code = "statement_cancelled"
    end

    # The client was closed.
    class Closed < Error
      # @return [String]
      def code = "client_closed"
    end
  end
end

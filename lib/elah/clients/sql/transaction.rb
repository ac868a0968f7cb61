# frozen_string_literal: true

module Elah
  class SQL
    # One connection between BEGIN and COMMIT: what {SQL#transaction} hands to its block.
    class Transaction
      include Statements

      # @api private
      # @param native [Elah::Clients::SQLTransaction]
      def initialize(native)
        @native = native
        @savepoints = 0
      end

      # @return [nil]
      # @api private
      def commit = @native.commit

      # @return [nil]
      # @api private
      def roll_back = @native.roll_back

      # A part of the transaction that can be undone alone: an exception, `throw`, `break` or `return` undoes what the block did.
      #
      # @yieldparam transaction [Transaction] this one
      # @yieldreturn [T]
      # @return [T] the block's value
      def transaction
        number = @savepoints += 1
        @native.set_savepoint(number)
        begun = true
        value = yield self
        @native.release_savepoint(number)
        released = true
        value
      rescue Exception
        failed = true
        raise
      ensure
        undo(number, failed) if begun && !released
      end

      private

      # A connection that was given up, or a transaction that has ended, is the consequence of the exception that ends the block, and does not
      # replace it.
      def undo(savepoint, failed)
        @native.roll_back_to_savepoint(savepoint)
      rescue SQL::Error, Unavailable
        raise unless failed
      end
    end
  end
end

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
        @rows = @reader = nil
      end

      # @return [nil]
      # @api private
      def commit
        end_rows
        native.commit
      end

      # @return [nil]
      # @api private
      def roll_back
        end_rows
        native.roll_back
      end

      # A part of the transaction that can be undone alone: an exception, `throw`, `break` or `return` undoes what the block did.
      #
      # @yieldparam transaction [Transaction] this one
      # @yieldreturn [T]
      # @return [T] the block's value
      def transaction
        number = @savepoints += 1
        native.set_savepoint(number)
        begun = true
        value = yield self
        leave_rows
        native.release_savepoint(number)
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
        leave_rows
        native.roll_back_to_savepoint(savepoint)
      rescue Error, Unavailable
        raise unless failed
      end

      # @raise [Error] for who reads rows: the statement would wait for the end of its own block
      def native
        return @native unless reads_rows?

        raise Error, "The rows of `each_row` take the connection until its block has ended: read all rows before you call the transaction again."
      end

      def open_rows(*)
        super.tap do |rows|
          @rows = rows
          @reader = current_reader
        end
      end

      def close_rows(rows)
        super
        @rows = @reader = nil if @rows.equal?(rows) # another fiber may have opened the next ones
      end

      # Closes the rows of an Enumerator that has not come to its end.
      def leave_rows
        close_rows(@rows) if reads_rows?
      end

      # Closes the rows that another fiber reads, too: it may never read on, and they hold the connection.
      def end_rows
        close_rows(@rows) if @rows
      end

      def reads_rows? = @reader && @reader.equal?(current_reader)

      # A task may read rows in the fiber of an Enumerator.
      def current_reader = Elah.current_task || Thread.current
    end
  end
end

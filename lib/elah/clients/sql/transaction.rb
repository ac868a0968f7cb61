# frozen_string_literal: true

module Elah
  class SQL
    # One connection between BEGIN and COMMIT: what {SQL#transaction} hands to its block.
    class Transaction
      include Statements

      NESTED_ELSEWHERE = "Another fiber has a nested transaction open, which would undo this call if it fails: call the transaction before it " \
                         "begins or when it has ended."

      # Who has a nested transaction open, or reads rows: a task, or the thread of one who has none; and the tasks that it had started before, which
      # are none of its block.
      Caller = Struct.new(:task, :earlier) do
        # @return [Caller] a task may read rows in the fiber of an Enumerator
        def self.current
          task = Elah.current_task || Thread.current
          new(task, task.is_a?(Task) ? task.children.filter_map(&:task) : [])
        end

        # @return [Boolean] whether the current fiber is that one, or was started in its block
        def within?
          current = Elah.current_task || Thread.current
          started = current
          started, current = current, current.parent while current.is_a?(Task) && !current.equal?(task)
          current.equal?(task) && earlier.none? { |other| other.equal?(started) }
        end
      end
      private_constant :NESTED_ELSEWHERE, :Caller

      # @api private
      # @param native [Elah::Clients::SQLTransaction]
      def initialize(native)
        @native = native
        @savepoints = 0
        @nested = {} # callers of open nested transactions by the number of the savepoint, the innermost one last
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
        @native.roll_back
      end

      # A part of the transaction that can be undone alone: an exception, `throw`, `break` or `return` undoes what the block did. Until it ends,
      # only its fiber and those that its block starts may call the transaction: a rollback would undo what others did.
      #
      # @yieldparam transaction [Transaction] this one
      # @yieldreturn [T]
      # @return [T] the block's value
      def transaction
        native
        number = @savepoints += 1
        @nested[number] = Caller.current
        within_savepoint(number) { yield self }
      ensure
        @nested.delete(number)
      end

      private

      def within_savepoint(number)
        native.set_savepoint(number)
        begun = true
        value = yield
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

      # A connection that was given up, or a transaction that has ended, is the consequence of the exception that ends the block, and does not
      # replace it.
      def undo(savepoint, failed)
        leave_rows
        @native.roll_back_to_savepoint(savepoint)
      rescue Unavailable
        nil # as the next statement, or the end of the transaction, tells
      rescue Error
        raise unless failed
      end

      # @raise [Error] for who reads rows, whose statement would wait for the end of its own block, and while a nested transaction of another fiber
      #   is open, which would undo the statement
      def native
        raise Error, NESTED_ELSEWHERE unless @nested.empty? || @nested.values.last.within?
        return @native unless reads_rows?

        raise Error, "The rows of `each_row` take the connection until its block has ended: read all rows before you call the transaction again."
      end

      def open_rows(*)
        super.tap do |rows|
          @rows = rows
          @reader = Caller.current
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

      def reads_rows? = @reader&.within?
    end
  end
end

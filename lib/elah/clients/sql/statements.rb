# frozen_string_literal: true

require "weakref"

module Elah
  class SQL
    # The statements of a client and a transaction. `?` marks a parameter.
    #
    # All methods suspend only the calling fiber; outside a loop they block the thread. They raise {Error} and its subclasses when the server
    # refuses, {Elah::Unavailable} when it cannot be reached or is lost, {Elah::PoolExhausted} when no connection becomes free, {Elah::QueryTimeout}
    # after the time limit, and ArgumentError for a parameter of a class that has no SQL type.
    module Statements
      HASHES, ARRAYS, FIRST, VALUE, COUNTS = *0..4
      private_constant :HASHES, :ARRAYS, :FIRST, :VALUE, :COUNTS

      # @param sql [String]
      # @param params [Array<nil, Boolean, Integer, Float, BigDecimal, String, Symbol, Time, Date, Hash, Array>] an Array for PostgreSQL only
      # @return [Array<Hash{String=>Object}>] every row by the names of its columns
      def query(sql, *params) = native.run(sql, params, HASHES)

      # @param (see #query)
      # @return [Array<Array<Object>>] every row as its values alone
      def rows(sql, *params) = native.run(sql, params, ARRAYS)

      # @param (see #query)
      # @return [Hash{String=>Object}, nil] the first row
      def first(sql, *params) = native.run(sql, params, FIRST)

      # @param (see #query)
      # @return [Object, nil] the first value of the first row
      def value(sql, *params) = native.run(sql, params, VALUE)

      # @param (see #query)
      # @return [Result] what an INSERT, UPDATE or DELETE came to
      def execute(sql, *params) = Result.new(*native.run(sql, params, COUNTS))

      # Yields the rows, fetched some hundred at a time. They hold a connection until the last one was read; rows of an Enumerator until the request
      # or fiber ends that has read the first one, at the latest.
      #
      # @overload each_row(sql, *params, &block)
      #   @param sql [String]
      #   @param params [Array<Object>] as of {#query}
      #   @yieldparam row [Hash{String=>Object}]
      #   @return [nil]
      # @overload each_row(sql, *params)
      #   @param sql [String]
      #   @param params [Array<Object>]
      #   @return [Enumerator<Hash{String=>Object}>]
      def each_row(sql, *params)
        return enum_for(:each_row, sql, *params) unless block_given?

        rows = open_rows(sql, params)
        task = Elah.current_task
        ending = end_with(task, WeakRef.new(rows)) if task
        while (batch = rows.next_batch)
          batch.each { |row| yield row }
        end
      ensure
        task&.forget_ending(ending)
        close_rows(rows) if rows
      end

      private

      attr_reader :native

      def open_rows(sql, params) = native.stream(sql, params)

      def close_rows(rows) = rows.close

      # Nothing else ends the fiber of an Enumerator that is not read to its end, until it is collected.
      def end_with(task, reference)
        task.at_end do
          close_rows(reference.__getobj__)
        rescue WeakRef::RefError
          nil
        end
      end
    end

    # Result of a statement that writes.
    #
    # @attr_reader [Integer] affected_rows rows that the statement found and changed
    # @attr_reader [Integer, nil] last_insert_id MySQL's number of the new row; nil otherwise
    Result = Struct.new(:affected_rows, :last_insert_id)
  end
end

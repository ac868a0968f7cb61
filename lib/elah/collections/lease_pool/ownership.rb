# frozen_string_literal: true

require "securerandom"

module Elah
  class LeasePool
    # The right to write a stored pool. The process that opened the pool last has it: a row in the table has its token, and each write of the pool is
    # a transaction that compares the row.
    class Ownership
      # Begins the keys of these rows. The rows of a pool begin with the length of its name, and have `s` or `t` after the name.
      KEY_PREFIX = "\0o"
      GONE = "Another process has opened the pool since: only one can lend its items."
      private_constant :KEY_PREFIX, :GONE

      # Takes the right from whoever has it. Returns when the row is on disk, so the rows of the pool do not change any more.
      #
      # @param store [Elah::Store]
      # @param table [Elah::Store::Table]
      # @param name [String] of the pool
      # @return [Ownership]
      # @raise [InvalidName, Elah::Store::Error]
      def self.take(store, table, name)
        raise InvalidName, "The name of a pool has at most 255 bytes, not #{name.bytesize}." if name.bytesize > 255

        new(store, table, KEY_PREFIX.b + name.b, SecureRandom.hex(16)).tap(&:store_token)
      end

      # @api private
      def initialize(store, table, key, token)
        @store = store
        @table = table
        @key = key
        @token = token
        @process_id = Process.pid
      end

      # @api private
      def store_token = @table.put(@key, @token)

      # @raise [OpenedElsewhere] when the right is gone
      def check
        @process_id == Process.pid or
          raise OpenedElsewhere, "This process is a fork of the one that opened the pool: open it in before_worker_boot, or keep it in an entity."
        @table.get(@key) == @token or raise OpenedElsewhere, GONE
      end

      # Runs a transaction that stores nothing if the right is gone.
      #
      # @yieldparam tx [Elah::Store::Transaction]
      # @raise [OpenedElsewhere]
      def transaction
        @store.transaction do |tx|
          tx.get(@table, @key) == @token or raise OpenedElsewhere, GONE
          yield tx
        end
      end
    end
  end
end

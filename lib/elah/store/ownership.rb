# frozen_string_literal: true

require "digest/sha2"
require "securerandom"

module Elah
  class Store
    # The right to write what one process keeps in memory and in a table: a lease pool, a ranked set. The process that opened it last has the right:
    # a row has its token, and each write is a transaction that compares the row. The trial run of a restart only reads, because the running server
    # goes on to write.
    class Ownership
      TABLE = "elah:owners"
      TAKEN = "Another process has opened it since, and only one can write it."
      FORK = "This process is a fork of the one that opened it: open it in before_worker_boot, or keep it in an entity, which all workers can call."
      CLUSTER = "A lease pool or a ranked set in a table needs a store in a folder. On a cluster, keep it in an entity."
      private_constant :TAKEN, :FORK, :CLUSTER

      # Takes the ownership from its current owner, and runs a block that reads the rows: no other process writes them any more. If the block
      # raises, the former owner gets it back.
      #
      # @param store [Elah::Store]
      # @param table [Elah::Store::Table]
      # @param name [String] of the object in the table
      # @yieldparam ownership [Ownership]
      # @return [Object] the block's value
      # @raise [Store::Error]
      # @raise [ArgumentError] when the store is a cluster
      def self.take(store, table, name)
        raise ArgumentError, CLUSTER unless store.is_a?(Store)

        ownership = new(store, Digest::SHA256.digest("#{[table.name.bytesize].pack('N')}#{table.name.b}#{name.b}"))
        ownership.take
        taken = yield ownership
      ensure
        ownership&.give_back unless taken
      end

      # @api private
      def initialize(store, key)
        @store = store
        @table = store.table(TABLE)
        @key = key
        @token = SecureRandom.hex(16)
        @process_id = Process.pid
        @is_trial = Restart.trial?
      end

      # @api private
      def take
        return if @is_trial

        @store.transaction do |tx|
          @before = tx.get(@table, @key)
          tx.put(@table, @key, @token)
        end
      end

      # @api private
      def give_back
        return if @is_trial

        Elah.shield do
          settle # a cancelled {take} has left the wait for its write, which goes on
          transaction { |tx| @before ? tx.put(@table, @key, @before) : tx.delete(@table, @key) }
        end
      rescue Store::Error
        nil # the store is closed, or another process has it by now
      end

      # @return [nil]
      # @raise [OpenedElsewhere] in a fork, where a fiber of the parent may hold a lock for good
      def check_process
        raise OpenedElsewhere, FORK unless @process_id == Process.pid
      end

      # @return [nil]
      # @raise [OpenedElsewhere] when the right is gone
      def check
        check_process
        raise OpenedElsewhere, TAKEN unless @is_trial || @table.get(@key) == @token
      end

      # Waits until all that this process has sent to the store before is stored or refused.
      def settle = @store.flush

      # Runs a transaction that stores nothing if the right is gone.
      #
      # @yieldparam tx [Elah::Store::Transaction]
      # @raise [OpenedElsewhere]
      def transaction
        check_process
        return try { |tx| yield tx } if @is_trial

        @store.transaction do |tx|
          raise OpenedElsewhere, TAKEN unless tx.get(@table, @key) == @token

          yield tx
        end
      end

      private

      # Stores nothing.
      def try
        catch(:done) { @store.transaction { |tx| throw(:done, yield(tx)) } }
      end
    end
  end
end

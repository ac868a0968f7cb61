# frozen_string_literal: true

require "forwardable"

module Elah
  class RankedSet
    # A ranked set whose members are rows of a table. A write is stored first, then applied to memory. So reads return only stored scores, and a
    # failed write changes nothing. Writes of one member run in sequence, those of different members share syncs. Reads are those of {RankedSet}.
    class Stored
      extend Forwardable

      # Number of rows that {#trim} and {#clear} delete in one transaction.
      BATCH = 1000

      Gate = Struct.new(:mutex, :users)
      private_constant :Gate

      # @!parse
      #   include Reads
      #   include Statistics
      def_delegators :@set, :size, :distinct_scores, :score, :member?, :bytes, :empty?, :rank, :ranks, :[], :top, :range, :around,
                     :list, :by_score, :count, :cursor, :page, :each, :percentile, :score_at_percentile, :histogram,
                     :version

      # @api private
      # @param set [RankedSet] the set loaded from the table
      # @param table [Elah::Store::Table]
      # @param prefix [String]
      # @param ownership [Elah::Store::Ownership]
      def initialize(set, table, prefix, ownership)
        @set = set
        @table = table
        @prefix = prefix
        @ownership = ownership
        @gates = {}
        @registry = Mutex.new
        @unknown = {}
      end

      # @param (see RankedSet#submit)
      # @return [Submission] once it is on disk
      # @raise [InvalidScore, InvalidMember, Full, Elah::Store::Error] nothing has changed
      def submit(member, score, operator: :best, style: :ordinal)
        Arguments.style(style) # before anything is stored
        member = member.dup # its caller may change it meanwhile
        alone([member]) do
          decision = @set.decide(member, score, operator: operator)
          unless decision
            @ownership.check # a write checks it too
            next @set.submit(member, score, operator: operator, style: style)
          end

          write = ->(tx) { tx.put(@table, *@set.row(decision, prefix: @prefix)) }
          storing([member], write) { @set.apply(decision, style: style) }
        end
      end

      # @param member [String]
      # @return [Integer, BigDecimal, Array<Integer, BigDecimal>, nil] its score, once the deletion is on disk; nil when there is no such member
      # @raise [Elah::Store::Error]
      def delete(member)
        member = member.dup
        alone([member]) do
          next @ownership.check unless @set.member?(member)

          write = ->(tx) { tx.delete(@table, RankedSet.row_key(member, prefix: @prefix)) }
          storing([member], write) { @set.delete(member) }
        end
      end

      # Removes the members that rank after the first ones, in batches.
      #
      # @param keep [Integer] number of members that stay
      # @return [Integer] number of removed members, once that is on disk
      # @raise [Elah::Store::Error]
      def trim(keep:)
        Arguments.limit(keep, "keep")
        @ownership.check # also if there is nothing to remove

        removed = 0
        while size > keep
          members = @set.range([keep + 1, size - BATCH + 1].max..).map(&:member)
          removed += alone(members) { remove(members.select { |member| (rank = @set.rank(member)) && rank > keep }) }
        end
        removed
      end

      # Removes all members, in batches.
      #
      # @return [nil] once that is on disk
      # @raise [Elah::Store::Error]
      def clear
        trim(keep: 0)
        nil
      end

      # @return [String]
      def inspect = "#<#{self.class} of #{size} members in #{@table.name}>"

      private

      def remove(members)
        keys = members.map { |member| RankedSet.row_key(member, prefix: @prefix) }
        write = ->(tx) { keys.each { |key| tx.delete(@table, key) } }
        storing(members, write) { members.each { |member| @set.delete(member) }.size }
      end

      # Runs a block while no other call writes these members. Gates are acquired in the order of the names, so that no two calls wait for each
      # other.
      def alone(members, &block)
        @ownership.check_process
        members = members.map { |member| bytes_of(member) }.uniq.sort
        gates = @registry.synchronize do
          members.map { |member| (@gates[member] ||= Gate.new(Mutex.new, 0)).tap { |gate| gate.users += 1 } }
        end
        enter(gates) do
          members.each { |member| recall(member) }
          block.call
        end
      ensure
        leave(members) if gates
      end

      # A loop instead of nested blocks: a batch has a thousand gates.
      def enter(gates)
        entered = []
        gates.each do |gate|
          gate.mutex.lock
          entered << gate
        end
        yield
      ensure
        entered.each { |gate| gate.mutex.unlock }
      end

      def leave(members)
        @registry.synchronize do
          members.each { |member| @gates.delete(member) if (@gates[member].users -= 1).zero? }
        end
      end

      # Runs a write in a transaction, then the block, which applies it to memory. If the write neither succeeds nor is refused by the store, it was
      # cancelled (a deadline, an ended thread), and may be on disk or not. If the block was, it is on disk, and memory may be behind.
      def storing(members, write)
        is_known = false
        @ownership.transaction(&write)
        applied = yield
        is_known = true
        applied
      rescue Store::Error
        is_known = true
        raise
      ensure
        members.each { |member| @unknown[bytes_of(member)] = true } unless is_known
      end

      # Names are the same when their bytes are, whatever their encodings.
      def bytes_of(member)
        return member.b if member.is_a?(String)

        raise TypeError, "a member must be a String, not #{member.inspect}"
      end

      # Reloads a member from the disk if its state is unknown, after the write that was cancelled: it may still wait for the disk.
      def recall(member)
        return unless @unknown.key?(member)

        @ownership.settle
        @set.restore(member, @table.get(RankedSet.row_key(member, prefix: @prefix)))
        @unknown.delete(member)
      end
    end
  end
end

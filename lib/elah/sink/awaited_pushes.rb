# frozen_string_literal: true

module Elah
  class Sink
    # The pushes of this process that wait for their delivery, and the rejections of their events. Several may wait for events with the same ID, each
    # for its own.
    class AwaitedPushes
      # A push: its journal, the end of the journal before it, and the rejections of events with its IDs.
      Push = Struct.new(:journal, :from, :raw_ids, :rejections) do
        # @param position [Integer] end of the journal after the push; what is delivered from there on is not part of it
        # @return [Hash{String=>String}] reasons by ID
        def reasons(position)
          rejections.select { |from,| from < position }.to_h { |_, letter| [Id.text(letter.raw_id), letter.reason] }
        end
      end
      private_constant :Push

      # @param ids_max [Integer] maximum number of IDs
      def initialize(ids_max)
        @ids_max = ids_max
        @pushes = {}
        @lock = Mutex.new
      end

      # Registers a push before its events are appended, so that it misses no rejection.
      #
      # @param journal [Journal]
      # @param raw_ids [Array<String>]
      # @return [Push, nil] nil when too many wait already
      def add(journal, raw_ids)
        @lock.synchronize do
          return if @pushes.size >= @ids_max

          push = Push.new(journal, journal.end, raw_ids.uniq, [])
          push.raw_ids.each { |raw_id| (@pushes[raw_id] ||= []) << push }
          push
        end
      end

      # @param push [Push]
      def remove(push)
        @lock.synchronize do
          push.raw_ids.each { |raw_id| @pushes.delete(raw_id) if @pushes[raw_id].reject! { |one| one.equal?(push) }.empty? }
        end
      end

      # Tells the pushes whose events were in a batch.
      #
      # @param letters [Array<DeadLetter>] of a batch
      # @param journal [Journal]
      # @param from [Integer] where the batch begins
      # @param to [Integer] where it ends
      def reject(letters, journal, from, to)
        @lock.synchronize do
          letters.each do |letter|
            @pushes[letter.raw_id]&.each { |push| push.rejections << [from, letter] if push.journal.equal?(journal) && push.from < to }
          end
        end
      end
    end
  end
end

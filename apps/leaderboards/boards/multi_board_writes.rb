# frozen_string_literal: true

require "digest/sha2"
require "securerandom"
require_relative "../errors"
require_relative "stored_responses"

module Leaderboards
  module Boards
    # Atomic writes to several boards. Boards are in different workers, so such a write has two steps. When every board has
    # accepted it, the write is stored as decided. Then each board applies its part, once, under its own key. If a process was
    # killed in between, the write is finished within {EVERY_SECONDS} of the next start. So a decided write is kept until every
    # part is on disk, even if the response does not wait for that.
    #
    # The board keeps the result of its part, which says that it was applied, for {UNFINISHED_SECONDS}, since a service that was
    # killed may stay off for days. Soon after the write is finished, that becomes {StoredResponses::KEPT_SECONDS}, for replays.
    #
    # A reader may see the parts one after the other during the write. After the response all of them are visible.
    class MultiBoardWrites
      # An increment of several boards may leave no larger score, so that earlier increments cannot make a decided one fail.
      SCORE_MAX = 2**62
      # How often a worker checks for unfinished writes, and their minimum age.
      EVERY_SECONDS = 2
      # How long the result for a key is kept.
      KEPT_SECONDS = StoredResponses::KEPT_SECONDS
      # How long a write may stay unfinished. After that, parts that were applied would be applied again.
      UNFINISHED_SECONDS = 90 * 86_400
      # How many rows are deleted, or names are sent, at once.
      AT_ONCE = 1000
      private_constant :AT_ONCE

      # One part: the arguments of {Board#submit}.
      Part = Struct.new(:board, :member, :score, :operator) do
        # @return [Array] to be kept
        def to_row = [board, member, score, operator.to_s]

        # @return [Part]
        def self.of(row) = new(*row[0, 3], row[3].to_sym)
      end

      # @param components [Array<Integer>] of a score after an increment
      # @raise [InvalidScore]
      def self.check_room(components)
        return if components.all? { |component| component.abs <= SCORE_MAX }

        raise InvalidScore, "An increment of several leaderboards must leave each score between -2^62 and 2^62."
      end

      # @param store [Elah::Store]
      # @param boards [#call_many]
      # @param responses [Elah::Store::Table, nil] the stored responses of the boards; nil if a board returns only after its write is on disk
      def initialize(store, boards, responses: nil)
        @store = store
        @boards = boards
        @decided = store.table("multi_board_writes")
        @keys = store.table("multi_board_keys")
        @responses = responses
        @finished = {} # board => names of parts
      end

      # @param parts [Array<Part>]
      # @param key [String, nil] the Idempotency-Key
      # @param style [Symbol]
      # @return [Array(Array<String>, Boolean)] the result of each part, and whether this is a replay
      # @raise [Refused] when a board refuses its part or the key belongs to another request; then nothing was written
      def submit(parts, key, style)
        rows = parts.map(&:to_row)
        id, is_replay = known(key, rows)
        id ||= decide(parts, rows, key)
        results = carry_out(id, parts, style)
        forget(id, parts, results) unless is_replay && @decided.get(id).nil?
        # A board that was deleted meanwhile has nothing to do.
        [results.map { |result| result.is_a?(String) ? result : "null" }, is_replay]
      end

      # Finishes decided writes that a killed process has left unfinished.
      #
      # @return [Integer] how many writes
      def finish
        left = left_behind
        done, undone = left.partition { |id, parts| known_stored?(id, parts) }
        done.each_slice(AT_ONCE) { |some| @store.transaction { |tx| some.each { |id, _| tx.delete(@decided, id) } } }
        done.each { |id, parts| note_finished(id, parts) }
        errors = undone.filter_map { |id, parts| finish_one(id, parts) }
        expire_results
        raise errors.first if errors.any?

        left.size
      end

      private

      def now = Leaderboards.service.clock.now

      # @return [Array<Array(String, Array<Part>)>] IDs and parts of unfinished writes. A decision in the future means that the clock was set back
      def left_behind
        under_way = (now - EVERY_SECONDS + 1)..now
        @decided.each.filter_map do |id, text|
          write = Elah::JSON.parse(text)
          [id, write.fetch("parts").map { |row| Part.of(row) }] unless under_way.cover?(write.fetch("at"))
        end
      end

      # A write that cannot be finished now, because a worker is down, does not hold up the others.
      #
      # @return [Elah::Error, nil] why it is not finished
      def finish_one(id, parts)
        forget(id, parts, carry_out(id, parts, :ordinal))
        nil
      rescue Elah::Error => e
        e
      end

      # @return [Array(String, Boolean), Array(nil, Boolean)] the ID of the write with this key, and whether there is one
      def known(key, rows)
        kept = key && @keys.get(key)
        kept ? [same(kept, rows), true] : [nil, false]
      end

      # @return [String] the ID of the stored write
      def same(kept, rows)
        id, digest = kept.split
        return id if digest == digest(rows)

        raise IdempotencyMismatch, "Another request came with this Idempotency-Key before."
      end

      def digest(rows) = Digest::SHA256.hexdigest(Elah::JSON.generate(rows))

      # Stores the write as decided after every board has checked its parts.
      def decide(parts, rows, key)
        calls = parts.group_by(&:board).map { |board, own| [board, :check, own.map { |part| [part.member, part.score, part.operator] }] }
        raise_first(@boards.call_many(calls))
        id = SecureRandom.hex(12)
        @store.transaction do |tx|
          taken = key && tx.get(@keys, key)
          next id = same(taken, rows) if taken

          tx.put(@keys, key, "#{id} #{digest(rows)}", ttl: KEPT_SECONDS) if key
          tx.put(@decided, id, Elah::JSON.generate({ at: now, parts: rows }))
        end
        id
      end

      # Each part is applied once, however often this is repeated.
      #
      # @return [Array<String, Refused>] Refused only for a board that was deleted after the decision
      def carry_out(id, parts, style)
        calls = parts.each_with_index.map { |part, index| [part.board, :carry_out, name(id, index), part.member, part.score, part.operator, style] }
        @boards.call_many(calls).tap { |results| raise_first(results.grep_v(Refused)) }
      end

      # The name of a part among the stored responses of its board.
      def name(id, index) = "multi-board #{id}/#{index}"

      # With durability :memory, parts are pending for a while; {#finish} handles them later.
      def forget(id, parts, results)
        return unless @responses.nil? || known_stored?(id, parts, results)

        @decided.delete(id)
        note_finished(id, parts)
      end

      # If the process is killed meanwhile, the results of these parts are kept for longer than they are needed.
      def note_finished(id, parts) = parts.each_with_index { |part, index| (@finished[part.board] ||= []) << name(id, index) }

      def expire_results
        finished, @finished = @finished, {}
        @boards.call_many(finished.flat_map { |board, names| names.each_slice(AT_ONCE).map { |some| [board, :finished, some] } })
      end

      # @param results [Array<String, Refused>] those that exist; a deleted board stores nothing
      def known_stored?(id, parts, results = [])
        @responses && parts.each_with_index.all? do |part, index|
          results[index].is_a?(Refused) || @responses.get(StoredResponses.key(part.board, name(id, index)))
        end
      end

      def raise_first(results)
        error = results.find { |result| result.is_a?(Exception) }
        raise error if error
      end
    end
  end
end

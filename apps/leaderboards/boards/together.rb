# frozen_string_literal: true

require "digest"
require "securerandom"
require_relative "../errors"
require_relative "answers"

module Leaderboards
  module Boards
    # Owns writes to several boards, which are done all or not at all. Boards live in different workers, so such a write has two steps: when
    # every board has said that it can, the whole is stored as decided; then each board does its part, once, under a key of its own. What was
    # decided and not done, because a process was killed in between, is done within {EVERY_SECONDS} of the next start.
    #
    # A reader may see the parts one after the other while the write is under way; once it is answered, all of them are there.
    class Together
      # How often a worker looks for writes that were left behind, and how old they are then at least.
      EVERY_SECONDS = 2
      # For how long the answer to a key is known.
      KEPT_SECONDS = Answers::KEPT_SECONDS

      # One part: what {Board#submit} gets.
      Part = Struct.new(:board, :member, :score, :operator) do
        # @return [Array] to be kept
        def to_row = [board, member, score, operator.to_s]

        # @return [Part]
        def self.of(row) = new(*row[0, 3], row[3].to_sym)
      end

      # @param store [Elah::Store]
      # @param boards [Elah::Entity::Region]
      def initialize(store, boards)
        @store = store
        @boards = boards
        @decided = store.table("together")
        @keys = store.table("together_keys")
      end

      # @param parts [Array<Part>]
      # @param key [String, nil] the Idempotency-Key
      # @param style [Symbol]
      # @return [Array(Array<String>, Boolean)] what each part did, and whether the key came before
      # @raise [Refused] when a board cannot, or another request came with the key; nothing was done then
      def submit(parts, key, style)
        rows = parts.map(&:to_row)
        id, is_replay = known(key, rows)
        id ||= decide(parts, rows, key)
        answers = carry_out(id, parts, style)
        @decided.delete(id) unless is_replay && @decided.get(id).nil?
        [answers, is_replay]
      end

      # Does what was decided and left behind.
      #
      # @return [Integer] how many writes
      def finish
        left = @decided.range.map { |id, text| [id, Elah::JSON.parse(text)] }.select { |_, write| left_behind?(write.fetch("at")) }
        errors = left.filter_map { |id, write| finish_one(id, write.fetch("parts").map { |row| Part.of(row) }) }
        raise errors.first if errors.any?

        left.size
      end

      private

      def now = Leaderboards.service.clock.now

      # Also what was decided in the future: the clock has been set back.
      def left_behind?(at) = !at.between?(now - EVERY_SECONDS + 1, now)

      # One that cannot be done now, since a worker is away, keeps no other from it.
      #
      # @return [Elah::Error, nil] why it is still there
      def finish_one(id, parts)
        carry_out(id, parts, :ordinal)
        @decided.delete(id)
        nil
      rescue Elah::Error => e
        e
      end

      # @return [Array(String, Boolean), Array(nil, Boolean)] the id of the write that the key stands for
      def known(key, rows)
        kept = key && @keys.get(key)
        kept ? [same(kept, rows), true] : [nil, false]
      end

      # @return [String] the id of the write, if it is this one
      def same(kept, rows)
        id, digest = kept.split
        return id if digest == digest(rows)

        raise IdempotencyMismatch, "Another request came with this Idempotency-Key before."
      end

      def digest(rows) = Digest::SHA256.hexdigest(Elah::JSON.generate(rows))

      # Every board says whether it can, then the write is stored.
      def decide(parts, rows, key)
        calls = parts.map { |part| [part.board, :check, part.member, part.score, part.operator] }
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

      # Each part is done once, whoever does it and however often.
      def carry_out(id, parts, style)
        calls = parts.each_with_index.map { |part, index| [part.board, :carry_out, "#{id}/#{index}", part.member, part.score, part.operator, style] }
        answers = @boards.call_many(calls)
        raise_first(answers.grep_v(Refused)) # every board had agreed; one that was deleted meanwhile has nothing to do
        answers.map { |answer| answer.is_a?(String) ? answer : "null" }
      end

      def raise_first(answers)
        error = answers.find { |answer| answer.is_a?(Exception) }
        raise error if error
      end
    end
  end
end

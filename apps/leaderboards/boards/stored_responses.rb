# frozen_string_literal: true

require "digest/sha2"
require_relative "../errors"

module Leaderboards
  module Boards
    # The responses stored under an Idempotency-Key, together with the changes of the request. A repeated request, also after a
    # crash, gets the stored response and changes nothing.
    class StoredResponses
      KEPT_SECONDS = 86_400
      DIGEST_BYTES = 32

      class << self
        # @param board [String] id
        # @param name [String] an Idempotency-Key, or another name of an operation that runs once
        # @return [String] the key of the row with the response
        def key(board, name) = "#{board}/#{name}"
      end

      # @param rows [Rows]
      # @param board [String] id
      def initialize(rows, board)
        @rows = rows
        @board = board
      end

      # @param key [String]
      # @param request [String] identifies the operation and its arguments
      # @param kept_seconds [Integer]
      # @yieldreturn [String] the response, if there is none yet
      # @return [Array(String, Boolean)] the response, and whether it is a replay
      # @raise [IdempotencyMismatch] when the key belongs to another request
      def once(key, request, kept_seconds: KEPT_SECONDS)
        key = StoredResponses.key(@board, key)
        digest = Digest::SHA256.digest(request)
        kept = @rows.get(key)
        return [response(kept, digest), true] if kept

        text = yield
        @rows.put(key, digest + text.b, ttl: kept_seconds)
        [text, false]
      end

      # Keeps a response for {KEPT_SECONDS} from now on.
      #
      # @param key [String]
      def keep_briefly(key)
        key = StoredResponses.key(@board, key)
        kept = @rows.get(key)
        @rows.put(key, kept, ttl: KEPT_SECONDS) if kept
      end

      private

      def response(kept, digest)
        return kept.byteslice(DIGEST_BYTES..).force_encoding(Encoding::UTF_8) if kept.byteslice(0, DIGEST_BYTES) == digest

        raise IdempotencyMismatch, "Another request came with this Idempotency-Key before."
      end
    end
  end
end

# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # Owns what changes the score of a member.
    class Submissions < Elah::API
      # What a PUT may do: sent twice, each does what it did once.
      OPERATORS = Definition::OPERATORS.reject { |_, operator| operator == :increment }.freeze
      IDEMPOTENCY_KEY = /\A[\x21-\x7e]{1,255}\z/
      METADATA_BYTES_MAX = 1024

      format :json
      error_format :problem
      helpers Support
      Support.rescue_errors(self)
      before { authorize! }

      helpers do
        # @return [Symbol]
        def operator(given, definition)
          chosen = given ? OPERATORS[given] : definition.operator
          return chosen if chosen && chosen != :increment

          raise InvalidOperator, "operator is #{OPERATORS.keys.join(', ')}; to add to a score, POST .../increments."
        end

        # @return [String, nil] JSON
        def metadata(body)
          return unless body.key?("metadata")

          given = body["metadata"]
          text = Elah::JSON.generate(given)
          return text if (given.nil? || given.is_a?(Hash)) && text.bytesize <= METADATA_BYTES_MAX

          raise InvalidMetadata, "metadata is a JSON object of at most #{METADATA_BYTES_MAX} bytes, or null."
        end

        # @return [String]
        def idempotency_key
          key = request.header("idempotency-key") or
            error!("An increment needs an Idempotency-Key, so that it counts once.", 400, code: "idempotency_key_required")
          return key if key.match?(IDEMPOTENCY_KEY)

          error!("An Idempotency-Key has 1 to 255 visible ASCII characters.", 400, code: "invalid_idempotency_key")
        end
      end

      desc "Submits a score, and tells the rank"
      put "leaderboards/:id/members/:member", raw: true, requirements: Support::MEMBER do
        board = definition
        body = fields
        answer(scores.submit(board, member, body["score"], operator(body["operator"], board), style, metadata(body)))
      end

      desc "Adds to a score, once for each Idempotency-Key"
      post "leaderboards/:id/members/:member/increments", raw: true, requirements: Support::MEMBER do
        text, is_replay = scores.increment(definition, member, fields["by"], idempotency_key, style)
        is_replay ? request.respond(200, { "content-type" => "application/json", "idempotency-replayed" => "true" }, text) : answer(text)
      end

      desc "Takes a member out of the season, with erase=true out of all that is kept"
      delete "leaderboards/:id/members/:member", requirements: Support::MEMBER do
        name = member
        scores.delete(definition, name, params["erase"] == "true") or
          raise MemberNotFound, "The leaderboard has no member #{name.inspect[0, 64]}."
        body false
      end
    end
  end
end

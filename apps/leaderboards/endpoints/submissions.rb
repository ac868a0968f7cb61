# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # The writes of a member's score.
    class Submissions < Elah::API
      # The operators of a PUT, which are idempotent.
      OPERATORS = Definition::OPERATORS.reject { |_, operator| operator == :increment }.freeze
      IDEMPOTENCY_KEY = /\A[\x21-\x7e]{1,255}\z/
      PARTS_MAX = 100

      format :json
      helpers Support

      helpers do
        # Also accepts a token for this member of this board.
        def authorize_for!(definition, member)
          return if service.api_key.nil? || authorized?(service.api_key)

          token = service.tokens && request.header("x-write-token") or unauthorized!(realm: Support::REALM)
          service.tokens.check(token, definition, member)
          @has_token = true
        end

        # @return [Symbol]
        def operator(given, definition)
          if given && @has_token && Definition::OPERATORS[given] != definition.operator
            raise InvalidOperator, "With a token, the operator must be the leaderboard's."
          end

          chosen = given ? OPERATORS[given] : definition.operator
          return chosen if chosen && chosen != :increment

          raise InvalidOperator, "operator must be #{OPERATORS.keys.join(', ')}; to add to a score, POST .../increments."
        end

        # @return [String]
        def idempotency_key
          idempotency_key_if_any or
            error!("An increment needs an Idempotency-Key, so that it counts once.", 400, code: "idempotency_key_required")
        end

        # @return [String, nil]
        def idempotency_key_if_any
          key = request.header("idempotency-key")
          return key if key.nil? || key.match?(IDEMPOTENCY_KEY)

          error!("An Idempotency-Key must have 1 to 255 visible ASCII characters.", 400, code: "invalid_idempotency_key")
        end

        # @return [Array] definition, member, score and operator of one submission among several
        def part(given)
          raise InvalidSubmissions, "A submission must be an object." unless given.is_a?(Hash)

          board = directory[given["leaderboard"].to_s]
          name = given["operator"]
          chosen = name ? Definition::OPERATORS[name] : board.operator
          raise InvalidOperator, "operator must be #{Definition::OPERATORS.keys.join(', ')}." unless chosen

          [board, checked(given["member"]), given["score"], chosen]
        end
      end

      desc "Submits a score, and returns the rank; without a score changes the metadata only"
      put "leaderboards/:id/members/:member", raw: true, late_body: true, requirements: Support::MEMBER do
        read_body
        board = definition
        name = member
        authorize_for!(board, name)
        body = json_object
        data = metadata(body)
        if body.keys == ["metadata"]
          send_json(scores.put_metadata(board, name, data, style))
        else
          send_json(scores.submit(board, name, body["score"], operator(body["operator"], board), style, data))
        end
      end

      desc "Adds to a score, once for each Idempotency-Key"
      post "leaderboards/:id/members/:member/increments", raw: true, requirements: Support::MEMBER do
        board = definition
        name = member
        authorize_for!(board, name)
        raise InvalidOperator, "With a token, the operator must be the leaderboard's." if @has_token && board.operator != :increment

        text, is_replay = scores.increment(board, name, json_object["by"], idempotency_key, style)
        is_replay ? request.respond(200, { "content-type" => "application/json", "idempotency-replayed" => "true" }, text) : send_json(text)
      end

      desc "Submits several scores to several leaderboards, all or nothing"
      post :submissions, raw: true do
        authorize!
        given = json_object["submissions"]
        unless given.is_a?(Array) && given.size.between?(1, PARTS_MAX)
          raise InvalidSubmissions, "submissions must be a list of 1 to #{PARTS_MAX} submissions."
        end

        parts = given.map { |one| part(one) }
        key = parts.any? { |part| part.last == :increment } ? idempotency_key : idempotency_key_if_any
        texts, is_replay = scores.submit_to_boards(parts, key, style)
        headers = is_replay ? { "content-type" => "application/json", "idempotency-replayed" => "true" } : Support::JSON_TYPE
        request.respond(200, headers, %({"submissions":[#{texts.join(',')}]}))
      end

      desc "Removes a member from the season; with erase=true deletes all its data"
      delete "leaderboards/:id/members/:member", requirements: Support::MEMBER do
        authorize!
        name = member
        scores.delete(definition, name, params["erase"] == "true") or
          raise MemberNotFound, "The leaderboard has no member #{name.inspect[0, 64]}."
        body false
      end
    end
  end
end

# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # Owns the submission of scores.
    class Submissions < Elah::API
      # What a PUT may do: sent twice, each does what it did once.
      OPERATORS = Definition::OPERATORS.reject { |_, operator| operator == :increment }.freeze

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
      end

      desc "Submits a score, and tells the rank"
      put "leaderboards/:id/members/:member", raw: true, requirements: Support::MEMBER do
        board = definition
        body = fields
        answer(scores.submit(board, member, body["score"], operator(body["operator"], board), style))
      end
    end
  end
end

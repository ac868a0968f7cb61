# frozen_string_literal: true

# The errors of requests, other than those of their form. Each class has a status and a stable code. They are refusals: a board
# that refuses has changed nothing and stays in memory.
module Leaderboards
  # The superclass of the errors.
  class Refused < Elah::Entity::Refusal
    class << self
      # @return [Integer]
      attr_reader :status
      # @return [String] stable, for programs
      attr_reader :code

      # @param status [Integer]
      # @param code [String]
      # @return [Class] of an error
      def with(status, code)
        Class.new(self) do
          @status = status
          @code = code
        end
      end
    end

    def status = self.class.status
    def code = self.class.code
  end

  GameNotFound = Refused.with(404, "game_not_found")
  BoardNotFound = Refused.with(404, "leaderboard_not_found")
  MemberNotFound = Refused.with(404, "member_not_found")
  InvalidSettings = Refused.with(422, "invalid_settings")
  InvalidScore = Refused.with(422, "invalid_score")
  InvalidMember = Refused.with(422, "invalid_member")
  InvalidOperator = Refused.with(422, "invalid_operator")
  InvalidSubmissions = Refused.with(422, "invalid_submissions")
  InvalidMetadata = Refused.with(422, "invalid_metadata")
  IdempotencyMismatch = Refused.with(422, "idempotency_mismatch")
  SeasonNotFound = Refused.with(404, "season_not_found")
  NotInParts = Refused.with(422, "not_in_parts")
  PartUnavailable = Refused.with(503, "part_unavailable")
  InvalidCursor = Refused.with(400, "invalid_cursor")
  BoardFull = Refused.with(409, "leaderboard_full")
end

# frozen_string_literal: true

module Leaderboards
  class Client
    # Operations on single members: scores, ranks and data.
    module Members
      # Sets a member's score.
      #
      # @param member [String]
      # @param score [Numeric, String]
      # @param member_data [Hash, nil] nil keeps the current data
      # @return [Hash{Symbol=>Object}] member, score and rank
      def rank_member(member, score, member_data = nil) = rank_member_in(@leaderboard_name, member, score, member_data)

      # @param (see #rank_member)
      def rank_member_in(name, member, score, member_data = nil)
        body = { score: score, operator: "set", **(member_data ? { metadata: member_data } : {}) }
        row(call("PUT", "#{path(name, 'members', member)}?rank=#{@ranks}", body))
      end

      # @param names [Array<String>]
      # @param (see #rank_member)
      def rank_member_across(names, member, score, member_data = nil)
        names.map { |name| rank_member_in(name, member, score, member_data) }
      end

      # @param conditional [#call] receives member, current score, score, data and options, as in the gem
      # @param (see #rank_member)
      # @return [Hash, nil] nil when the condition was not met
      def rank_member_if(conditional, member, score, current_score = nil, member_data = nil)
        current_score ||= score_for(member)
        rank_member(member, score, member_data) if conditional.call(member, current_score, score, member_data, { reverse: @reverse })
      end

      # @param members_and_scores [Array] member, score, member, score and so on, or pairs
      # @return [Integer] how many were accepted
      def rank_members(*members_and_scores)
        lines = members_and_scores.flatten.each_slice(2).map { |member, score| "#{JSON.generate(member: member, score: score)}\n" }
        summary = transfer(lines.join)
        return summary["imported"] if summary["failed"].zero?

        first = summary["failures"].first
        raise Error.new("#{summary['failed']} of #{lines.size} were refused, the first one in line #{first['line']}.", 422, first["code"])
      end

      # Adds to a score exactly once, even if the request must be repeated.
      #
      # @param member [String]
      # @param delta [Numeric, String]
      # @param member_data [Hash, nil]
      # @return [Hash{Symbol=>Object}] member, score and rank
      def change_score_for(member, delta, member_data = nil) = change_score_for_member_in(@leaderboard_name, member, delta, member_data)

      # @param name [String] of the leaderboard
      # @param (see #change_score_for)
      def change_score_for_member_in(name, member, delta, member_data = nil)
        key = SecureRandom.uuid
        attempts = 0
        begin
          changed = row(call("POST", "#{path(name, 'members', member, 'increments')}?rank=#{@ranks}", { by: delta }, "idempotency-key" => key))
        rescue Unreachable
          (attempts += 1) < ATTEMPTS ? retry : raise
        end
        keep_data(name, member, member_data) if member_data
        changed
      end

      # @param member [String]
      # @return [Boolean] whether it was there
      def remove_member(member)
        call("DELETE", path(@leaderboard_name, "members", member))
        true
      rescue Error => e
        e.code == "member_not_found" ? false : raise
      end

      # @return [Boolean]
      def check_member?(member) = !standing(member).nil?

      # @return [Integer, String, nil]
      def score_for(member) = standing(member)&.fetch("score")

      # @return [Integer, Float, nil]
      def rank_for(member) = standing(member)&.fetch("rank")

      # @return [Hash{Symbol=>Object}] with nil for a member that is not there, as in the gem
      def score_and_rank_for(member) = row(standing(member) || { "member" => member, "score" => nil, "rank" => nil })

      # @return [Hash, nil]
      def member_data_for(member) = standing(member)&.fetch("metadata", nil)

      # @param members [Array<String>]
      # @return [Array<Hash, nil>]
      def members_data_for(members) = members.map { |member| member_data_for(member) }

      # Stores data of a member that has a score.
      def update_member_data(member, member_data) = keep_data(@leaderboard_name, member, member_data)

      def remove_member_data(member) = keep_data(@leaderboard_name, member, nil)

      private

      def standing(member) = call_or_nil("GET", "#{path(@leaderboard_name, 'members', member)}?rank=#{@ranks}")

      def keep_data(name, member, data)
        changed = call_or_nil("PUT", "#{path(name, 'members', member)}?rank=#{@ranks}", { metadata: data })
        changed && row(changed)
      end

      def row(given, with_data: false)
        found = { member: given["member"], score: given["score"], rank: given["rank"] }
        with_data ? found.merge(member_data: given["metadata"]) : found
      end

      def transfer(lines)
        request = Net::HTTP::Post.new("#{path(@leaderboard_name, 'import')}?operator=set", "content-type" => "application/x-ndjson")
        request["authorization"] = "Bearer #{@api_key}" if @api_key
        request.body = lines
        read(http.request(request))
      rescue *BROKEN => e
        @http = nil
        raise Unreachable, "#{@uri} did not respond to the import: #{e.message}"
      end
    end
  end
end

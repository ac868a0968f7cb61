# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # Operations on a whole board: bans, trimming, seasons and deletion.
    class Moderation < Elah::API
      SEASONS_MAX = 1002
      KEPT = (0..Definition::MEMBERS.end).freeze

      format :json
      helpers Support

      helpers do
        # @return [String, nil] a time in UTC, nil for one that is not fixed
        def time(seconds) = seconds.zero? ? nil : Time.at(seconds).utc.strftime("%Y-%m-%dT%H:%M:%SZ")

        # @param season [Boards::Seasons::Season]
        def shown(season)
          { season: season.number, begins_at: time(season.begins_at), ends_at: time(season.ends_at), ended_at: time(season.ended_at) }
        end
      end

      desc "A leaderboard, with the number of its members and its season"
      get "leaderboards/:id" do
        found = directory.fetch(params["id"])
        latest = scores.seasons(found, 1).first
        { **found.to_h.transform_keys(&:to_sym), size: scores.size(found), current_season: shown(latest) }
      end

      desc "The kept seasons, the latest first"
      get("leaderboards/:id/seasons") { { seasons: scores.seasons(directory[params["id"]], SEASONS_MAX).map { |season| shown(season) } } }

      scope do
        before { authorize! }

        desc "Lists the banned members"
        get("leaderboards/:id/bans") { { members: scores.banned(definition) } }

        desc "Bans a member; its own requests have the same results as before"
        put "leaderboards/:id/bans/:member", requirements: Support::MEMBER do
          scores.ban(definition, member)
          body false
        end

        desc "Ends a ban"
        delete "leaderboards/:id/bans/:member", requirements: Support::MEMBER do
          name = member
          scores.pardon(definition, name) or raise MemberNotFound, "#{name.inspect[0, 64]} is not banned."
          body false
        end

        desc "Removes the members after the first ones"
        post "leaderboards/:id/trim" do
          keep = json_object["keep"]
          keep.is_a?(Integer) && KEPT.cover?(keep) or
            error!("keep must be the number of members to keep, #{KEPT.begin} to #{KEPT.end}.", 400, code: "invalid_keep")
          status 200
          { removed: scores.trim(definition, keep) }
        end

        desc "Ends the season and begins the next"
        post("leaderboards/:id/seasons") { { season: scores.begin_season(definition) } }

        desc "Deletes a leaderboard and all its data"
        delete "leaderboards/:id" do
          found = directory.fetch(params["id"])
          directory.delete(found) { scores.remove(found) }
          body false
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # The issue of write tokens.
    class Tokens < Elah::API
      SECONDS = (1..2_592_000).freeze

      format :json
      helpers Support
      before { authorize! }

      desc "A token by which a client may write the score of one member"
      post "leaderboards/:id/tokens" do
        tokens = service.tokens or error!("Tokens need the setting leaderboards_token_secret.", 501, code: "tokens_off")
        given = json_object
        name = checked(given["member"])
        seconds = given.fetch("expires_in", 3600)
        unless seconds.is_a?(Integer) && SECONDS.cover?(seconds)
          error!("expires_in must be a whole number of seconds from #{SECONDS.begin} to #{SECONDS.end}.", 400, code: "invalid_expires_in")
        end

        token, expires_at = tokens.issue(definition, name, seconds)
        { token: token, member: name, expires_at: Time.at(expires_at).utc.strftime("%Y-%m-%dT%H:%M:%SZ") }
      end
    end
  end
end

# frozen_string_literal: true

require "elah/api"
require_relative "../health"
require_relative "service"
require_relative "endpoints/feed"
require_relative "endpoints/games"
require_relative "endpoints/moderation"
require_relative "endpoints/original"
require_relative "endpoints/standings"
require_relative "endpoints/statistics"
require_relative "endpoints/submissions"
require_relative "endpoints/tokens"
require_relative "endpoints/transfers"

module Leaderboards
  # All routes, the original's and the current ones, and the mapping of errors to responses.
  class API < Elah::API
    error_format :problem
    rescue_from(Refused) { |e| error!(e.message, e.status, e.status == 503 ? { "retry-after" => "1" } : {}, code: e.code) }

    mount(Health.api { { leaderboards: Leaderboards.service.directory.size } })
    mount Endpoints::Games
    mount Endpoints::Original
    mount Endpoints::Standings
    mount Endpoints::Statistics
    mount Endpoints::Moderation
    mount Endpoints::Submissions
    mount Endpoints::Tokens
    mount Endpoints::Transfers
    mount Endpoints::Feed
  end
end

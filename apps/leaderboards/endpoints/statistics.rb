# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # The distribution of scores: percentiles and histograms.
    class Statistics < Elah::API
      BUCKETS_MAX = 1000
      PERCENT = /\A\d{1,3}(\.\d{1,6})?\z/
      SCORE = /\A-?\d{1,19}(\.\d{1,18})?\z/

      format :json
      helpers Support

      helpers do
        # @return [Array<Numeric>]
        def percents
          given = params["at"].to_s.split(",")
          unless given.size.between?(1, 100) && given.all? { |text| text.match?(PERCENT) && text.to_f <= 100 }
            error!("at must be a list of 1 to 100 numbers from 0 to 100.", 400, code: "invalid_at")
          end

          given.map { |text| text.include?(".") ? text.to_f : text.to_i }
        end

        # @return [Array<String>, nil]
        def bounds
          given = params["bounds"] or return
          texts = given.to_s.split(",")
          return texts if texts.size.between?(1, BUCKETS_MAX) && texts.all? { |text| text.match?(SCORE) }

          error!("bounds must be a list of 1 to #{BUCKETS_MAX} scores.", 400, code: "invalid_bounds")
        end
      end

      desc "The percentage of members that are not better than one"
      get "leaderboards/:id/members/:member/percentile", raw: true, requirements: Support::MEMBER do
        send_json(scores.percentile(definition, member, season))
      end

      desc "The score at a percentile"
      get("leaderboards/:id/percentiles", raw: true) { send_json(scores.scores_at(definition, percents, season)) }

      desc "The distribution of scores"
      get "leaderboards/:id/histogram", raw: true do
        limits = bounds
        send_json(scores.histogram(definition, limits, limits ? nil : number("buckets", 10, 1..BUCKETS_MAX), season))
      end
    end
  end
end

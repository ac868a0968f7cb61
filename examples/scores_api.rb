# frozen_string_literal: true

# Players and their best scores, in memory. `elah serve examples/scores_api.rb`, then
#   curl -X PUT -d score=120 localhost:9292/players/ann
#   curl 'localhost:9292/top?style=dense'
class ScoresAPI < Elah::API
  format :json
  error_format :problem
  SCORES = Elah::RankedSet.new(members_max: 1_000_000)
  STYLES = %w[ordinal dense competition modified fractional].freeze

  rescue_from(Elah::RankedSet::InvalidScore, Elah::RankedSet::InvalidMember) { |error| error!(error.message, 422) }

  params { requires :score, type: String }
  put("players/:name") { SCORES.submit(params[:name], params[:score]).to_h.slice(:rank, :previous_rank, :score) }

  get("players/:name") { SCORES[params[:name]]&.to_h || error!("There is no such player.", 404) }

  get("players/:name/around") { SCORES.around(params[:name], 5)&.map(&:to_h) || error!("There is no such player.", 404) }

  params { optional :style, type: String, values: STYLES, default: "ordinal" }
  get(:top) { SCORES.top(10, style: params[:style].to_sym).map(&:to_h) }
end

run ScoresAPI

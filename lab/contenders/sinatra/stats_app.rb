# frozen_string_literal: true

# The routes of specs/stats.md in Sinatra, for the contenders sinatra and em_synchrony.
require_relative "api"
require_relative "../ruby_apis/stats"

class StatsApp < API
  get("/stats") { answer(Stats.record(env)) }
  post("/stats") { answer(Stats.record(env)) }
  get("/stats/rollups") { answer(Stats.rollups(params["per"], params["from"])) }
end

# frozen_string_literal: true

# The routes of specs/stats.md in Grape.
require_relative "api"
require_relative "../ruby_apis/stats"

class StatsApp < Grape::API
  include API
  content_type :json, "application/json"
  content_type :txt, "text/plain"
  default_format :json
  parser :json, ->(text, _env) { text }
  parser :txt, ->(text, _env) { text }

  get("stats") { Stats.record(env) }

  post "stats" do
    status 200
    env["api.format"] = :json
    Stats.record(env)
  end

  get("stats/rollups") { Stats.rollups(params[:per], params[:from]) }
end

Stats.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run StatsApp

# frozen_string_literal: true

# The routes of specs/stats.md in Rails.
require_relative "api_controller"
require_relative "../ruby_apis/stats"

LabApplication.routes.append do
  match "/stats", to: "stats#record", via: %i[get post]
  get "/stats/rollups", to: "stats#rollups"
end

class StatsController < APIController
  def record = render(json: Stats.record(request.env))
  def rollups = render(json: Stats.rollups(params[:per], params[:from]))
end

LabApplication.initialize!
Stats.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))

run LabApplication

# frozen_string_literal: true

# The routes of specs/leaderboards.md in Grape.
require_relative "api"
require_relative "../ruby_apis/leaderboards"

class LeaderboardsApp < Grape::API
  include API
  content_type :json, "application/json"
  content_type :ndjson, "application/x-ndjson"
  parser :ndjson, ->(text, _env) { { "lines" => text } }

  post("games") { Leaderboards.create_game(document) }

  post "games/:game/leaderboards" do
    board = Leaderboards.create_board(params[:game], document)
    header "Location", "#{request.base_url}/leaderboards/#{board[:id]}"
    board
  end

  namespace "leaderboards/:board" do
    get(:top) { Leaderboards.top(params[:board], params[:limit]) }
    put("members/:member") { Leaderboards.submit(params[:board], params[:member], document) }
    get("members/:member") { Leaderboards.standing(params[:board], params[:member]) }
    get("members/:member/around") { Leaderboards.around(params[:board], params[:member], params[:distance]) }

    post :import do
      status 200
      Leaderboards.import(params[:board], document.fetch("lines"))
    end
  end
end

Leaderboards.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run LeaderboardsApp

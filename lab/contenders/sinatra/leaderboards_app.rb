# frozen_string_literal: true

# The routes of specs/leaderboards.md in Sinatra, for the contenders sinatra and em_synchrony.
require_relative "api"
require_relative "../ruby_apis/leaderboards"

class LeaderboardsApp < API
  post("/games") { answer(Leaderboards.create_game(document), 201) }

  post("/games/:game/leaderboards") do |game|
    board = Leaderboards.create_board(game, document)
    headers "Location" => "#{request.base_url}/leaderboards/#{board[:id]}"
    answer(board, 201)
  end

  put("/leaderboards/:board/members/:member") { |board, member| answer(Leaderboards.submit(board, member, document)) }
  post("/leaderboards/:board/import") { |board| answer(Leaderboards.import(board, request.body.read)) }
  get("/leaderboards/:board/top") { |board| answer(Leaderboards.top(board, params["limit"])) }
  get("/leaderboards/:board/members/:member") { |board, member| answer(Leaderboards.standing(board, member)) }
  get("/leaderboards/:board/members/:member/around") { |board, member| answer(Leaderboards.around(board, member, params["distance"])) }
end

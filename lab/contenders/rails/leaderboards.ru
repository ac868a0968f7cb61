# frozen_string_literal: true

# The routes of specs/leaderboards.md in Rails.
require_relative "api_controller"
require_relative "../ruby_apis/leaderboards"

LabApplication.routes.append do
  post "/games", to: "leaderboards#create_game"
  post "/games/:game/leaderboards", to: "leaderboards#create"
  scope "/leaderboards/:board" do
    get "/top", to: "leaderboards#top"
    post "/import", to: "leaderboards#import"
    put "/members/:member", to: "leaderboards#submit"
    get "/members/:member", to: "leaderboards#standing"
    get "/members/:member/around", to: "leaderboards#around"
  end
end

class LeaderboardsController < APIController
  def create_game = render(json: Leaderboards.create_game(document), status: :created)

  def create
    board = Leaderboards.create_board(params[:game], document)
    render(json: board, status: :created, location: "#{request.base_url}/leaderboards/#{board[:id]}")
  end

  def top = render(json: Leaderboards.top(params[:board], params[:limit]))
  def import = render(json: Leaderboards.import(params[:board], request.raw_post))
  def submit = render(json: Leaderboards.submit(params[:board], params[:member], document))
  def standing = render(json: Leaderboards.standing(params[:board], params[:member]))
  def around = render(json: Leaderboards.around(params[:board], params[:member], params[:distance]))
end

LabApplication.initialize!
Leaderboards.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))

run LabApplication

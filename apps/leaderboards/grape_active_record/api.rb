# frozen_string_literal: true

require "grape"
require "json"
require_relative "records"

module Leaderboards
  # The original's six routes, and one more: to submit a score. Two of its bugs are fixed: a rank was counted over the scores of
  # all boards, and a missing score or board was a 500.
  class GrapeAPI < Grape::API
    PAGE_SIZE = 10
    IDS = (1..(2**63) - 1).freeze
    PAGES = (1..1_000_000).freeze

    format :json
    formatter :json, ->(value, _) { JSON.generate(value) }
    error_formatter :json, ->(message, *) { JSON.generate(message.is_a?(Hash) ? message : { error: message }) }

    helpers do
      def problem!(status, code, detail) = error!({ status: status, code: code, detail: detail }, status)

      def leaderboard!(found) = found || problem!(404, "leaderboard_not_found", "There is no such leaderboard.")

      def shown(board) = { id: board.id, game_id: board.game_id, name: board.name }

      def boards
        Records::Game.exists?(params[:game_id]) || problem!(404, "game_not_found", "There is no game #{params[:game_id]}.")
        Records::Leaderboard.where(game_id: params[:game_id])
      end

      def page_of(records) = records.limit(PAGE_SIZE).offset((params[:page] - 1) * PAGE_SIZE)
    end

    rescue_from(Grape::Exceptions::ValidationErrors) { |e| error!({ status: 400, code: "validation_failed", detail: e.message }, 400) }
    rescue_from(Grape::Exceptions::InvalidMessageBody) { |e| error!({ status: 400, code: "invalid_body", detail: e.message }, 400) }
    rescue_from ActiveRecord::ConnectionNotEstablished, ActiveRecord::ConnectionTimeoutError do |e|
      error!({ status: 503, code: "store_unavailable", detail: e.message.lines.first.chomp }, 503)
    end

    get(:livez) { { status: "alive" } }

    params { requires :name, type: String, allow_blank: false }
    post(:games) { Records::Game.create!(name: params[:name]).then { |game| { id: game.id, name: game.name } } }

    params { requires :game_id, type: Integer, values: IDS }
    namespace "games/:game_id/leaderboards" do
      params { optional :page, type: Integer, values: PAGES, default: 1 }
      get { page_of(boards.order(:id)).map { |board| shown(board) } }

      params { requires :name, type: String, allow_blank: false }
      post { shown(boards.create!(name: params[:name])) }

      params { requires :id, type: Integer, values: IDS }
      get(":id") { shown(leaderboard!(boards.find_by(id: params[:id]))) }

      params do
        requires :id, type: Integer, values: IDS
        requires :name, type: String, allow_blank: false
      end
      put(":id") { shown(leaderboard!(boards.find_by(id: params[:id])).tap { |board| board.update!(name: params[:name]) }) }
    end

    params { requires :leaderboard_id, type: Integer, values: IDS }
    namespace "leaderboards/:leaderboard_id/users" do
      params { optional :page, type: Integer, values: PAGES, default: 1 }
      get do
        board = leaderboard!(Records::Leaderboard.find_by(id: params[:leaderboard_id]))
        rows = page_of(board.scores.order(value: :desc, id: :asc)).to_a
        rank = rows.first&.rank
        rows.each_with_index.map do |score, index|
          rank = ((params[:page] - 1) * PAGE_SIZE) + index + 1 if index.positive? && rows[index - 1].value != score.value
          { user_id: score.user_id, value: score.value, rank: rank }
        end
      end

      params { requires :id, type: Integer, values: IDS }
      get ":id" do
        score = Records::Score.find_by(leaderboard_id: params[:leaderboard_id], user_id: params[:id]) ||
                problem!(404, "member_not_found", "The leaderboard has no score of the user #{params[:id]}.")
        { score: score.value, rank: score.rank }
      end
    end

    params do
      requires :leaderboard_id, type: Integer, values: IDS
      requires :id, type: Integer, values: IDS
      requires :score, type: Integer, values: (-(2**63)..(2**63) - 1)
    end
    put "leaderboards/:leaderboard_id/members/:id" do
      leaderboard!(Records::Leaderboard.exists?(params[:leaderboard_id]))
      key = { leaderboard_id: params[:leaderboard_id], user_id: params[:id] }
      Records::Score.upsert_all([key.merge(value: params[:score], created_at: Time.now, updated_at: Time.now)])
      { rank: Records::Score.find_by!(key).rank, member: params[:id].to_s, score: params[:score] }
    end
  end
end

# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # Games and the creation of boards, under the original's routes.
    class Games < Elah::API
      format :json
      helpers Support

      helpers do
        # @return [Hash{String=>Object}] of a JSON body or a form
        def given = params.to_h.transform_keys(&:to_s).except("game_id", "id", "format", "page")

        # @return [Definition] of the board, if it is the game's
        def board_of_game
          found = directory.fetch(params["id"].to_s)
          return found if found.game_id.to_s == params["game_id"]

          raise BoardNotFound, "The game #{params['game_id'].to_s[0, 64]} has no leaderboard #{params['id'].to_s[0, 64]}."
        end
      end

      desc "Creates a game"
      post :games do
        authorize!
        directory.create_game(params["name"])
      end

      desc "Shows a game"
      get("games/:game_id") { directory.game(params["game_id"]) }

      namespace "games/:game_id/leaderboards" do
        desc "Lists the leaderboards of a game, ten on a page"
        get { directory.boards(params["game_id"], offset: pages_before(1_000_000), limit: Support::PAGE_SIZE).map(&:to_h) }

        desc "Creates a leaderboard"
        post do
          authorize!
          made = directory.create(given, game_id: params["game_id"])
          header "location", "http://#{request.host}/leaderboards/#{made.id}"
          made.to_h
        end

        desc "Shows a leaderboard"
        get(":id") { board_of_game.to_h }

        desc "Renames a leaderboard"
        put ":id" do
          authorize!
          directory.rename(board_of_game.key, params["name"]).to_h
        end
      end
    end
  end
end

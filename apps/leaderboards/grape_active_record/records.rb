# frozen_string_literal: true

require "active_record"

module Leaderboards
  # The original's tables: games, leaderboards, users and scores. Two indexes are new: a user has one score on a board, and the
  # scores of a board are in order, because a rank counts the better ones.
  module Records
    # The superclass of the records.
    class Record < ActiveRecord::Base
      self.abstract_class = true
    end

    # A game has boards.
    class Game < Record
      has_many :leaderboards
    end

    # A board has scores.
    class Leaderboard < Record
      has_many :scores
    end

    # The owner of scores.
    class User < Record
    end

    # A user's score on a board.
    class Score < Record
      belongs_to :leaderboard
      belongs_to :user

      # @return [Integer] one more than have a better score on the same board: equal scores share a rank
      def rank = self.class.where(leaderboard_id: leaderboard_id).where("value > ?", value).count + 1
    end

    class << self
      # Creates missing tables.
      def make_tables
        connection = Record.connection
        return if connection.table_exists?(:scores)

        connection.create_table(:games, if_not_exists: true) { |table| named(table) }
        connection.create_table(:leaderboards, if_not_exists: true) do |table|
          named(table)
          table.bigint :game_id, null: false, index: true
        end
        connection.create_table(:users, if_not_exists: true) do |table|
          named(table)
          table.string :email
        end
        make_scores(connection)
      end

      private

      def make_scores(connection)
        connection.create_table(:scores, if_not_exists: true) do |table|
          table.bigint :leaderboard_id, null: false
          table.bigint :user_id, null: false
          table.bigint :value, null: false
          table.timestamps
          table.index %i[leaderboard_id user_id], unique: true
          table.index %i[leaderboard_id value]
        end
      end

      def named(table)
        table.string :name, null: false
        table.timestamps
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../../boards/calendar"
require_relative "../../boards/seasons"

module Leaderboards
  module Stores
    class Redis
      # The seasons of {Board}. Redis has the number of the current one, and every script checks it, so that each operation
      # belongs to one season.
      module Seasons
        # Ends a season, unless it has been ended already.
        #
        # @param known [Boards::Seasons::Season, nil] the one that ends; nil before the first one
        # @return [Boards::Seasons::Season] the current one
        # @raise [BoardNotFound]
        def advance_season(known = season)
          now = @clock.now
          begins_at, ends_at = calendar ? calendar.period(now) : [now, 0]
          begins_at = [begins_at, now].max if known
          ended_at = [now, *known&.begins_at].max
          arguments = [known&.number || "", ended_at, begins_at, ends_at, @definition.seasons_kept]
          reply = @programs.advance.call(keys: @keys, args: arguments)
          raise BoardNotFound, "There is no leaderboard #{@definition.key}." if reply.first == "gone"

          @season = read(*reply)
        end

        # Ends the current season, also of a board that nobody has used yet.
        #
        # @return [Boards::Seasons::Season] the new one
        # @raise [BoardNotFound]
        def begin_season
          seasons(1)
          advance_season
        end

        # @param limit [Integer]
        # @return [Array<Boards::Seasons::Season>] the current one and those before it, the latest first
        def seasons(limit)
          range(1, 0, :ordinal, nil)
          @redis.hgetall("#{@stem}:seasons").map { |number, row| read(number, row) }.sort_by { |season| -season.number }.first(limit)
        end

        private

        # @return [Boolean] whether the season is over, as far as this worker knows
        def due?
          return false unless @definition.season

          @season ||= season
          @season && @clock.now >= @season.ends_at
        end

        # @return [Boards::Seasons::Season, nil] the current one
        def season
          number = @redis.get(@keys.first)
          row = number && @redis.hget("#{@stem}:seasons", number)
          row && read(number, row)
        end

        def read(number, row) = Boards::Seasons::Season.new(number.to_i, *row.split.map(&:to_i))

        def calendar = @definition.season && (@calendar ||= Boards::Calendar.new(@definition.season, @definition.zone))
      end
    end
  end
end

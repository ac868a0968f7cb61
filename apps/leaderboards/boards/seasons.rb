# frozen_string_literal: true

require_relative "calendar"

module Leaderboards
  module Boards
    # The seasons of a board. One is current. When its time is over, the next call of the board begins another; if the clock goes
    # back, no season returns. Past ones stay until there are too many. Each is a row of an index, which every worker may read:
    #
    #     board id / number => begin, planned end (0: on request), actual end (0: not yet)
    class Seasons
      # A season, with times in seconds since 1970; 0 is not yet.
      Season = Struct.new(:number, :begins_at, :ends_at, :ended_at) do
        # @return [Boolean]
        def ended? = !ended_at.zero?

        # @return [String] before the keys of its members' rows
        def prefix(board) = "#{board}/#{number}"
      end

      # Rows of old seasons deleted in one write.
      PRUNED_AT_ONCE = 200

      class << self
        # @param board [String] id
        # @param number [Integer]
        # @return [String]
        def key(board, number) = "#{board}/#{format('%010d', number)}"

        # @param table [Elah::Store::Table] of the index
        # @param board [String] id
        # @param limit [Integer]
        # @return [Array<Season>] the last ones, the latest first
        def list(table, board, limit) = table.range(prefix: "#{board}/", reverse: true, limit: limit).map { |key, row| read(key, row) }

        # @param table [Elah::Store::Table]
        # @param board [String]
        # @return [Array<Season>] all that have ended, the oldest first
        def ended(table, board) = table.each(prefix: "#{board}/").map { |key, row| read(key, row) }.select(&:ended?)

        # @param table [Elah::Store::Table]
        # @param board [String]
        # @return [Season, nil] the oldest
        def first(table, board) = table.range(prefix: "#{board}/", limit: 1).map { |key, row| read(key, row) }.first

        # @param table [Elah::Store::Table]
        # @param board [String]
        # @param number [Integer]
        # @return [Season, nil]
        def find(table, board, number)
          key = key(board, number)
          row = table.get(key)
          row && read(key, row)
        end

        private

        def read(key, row) = Season.new(key.byteslice(-10, 10).to_i, *row.split.map(&:to_i))
      end

      # @return [Season]
      attr_reader :current

      # @param board [String] id, with the part if there are some
      # @param definition [Definition]
      # @param table [Elah::Store::Table] of the index, to read
      # @param rows [Elah::Entity::Index] the same, to write
      # @param clock [#now]
      def initialize(board, definition, table, rows, clock)
        @board = board
        @kept = definition.seasons_kept
        @table = table
        @rows = rows
        @clock = clock
        @calendar = definition.season && Calendar.new(definition.season, definition.zone)
        @pruned = false
        @current = @last = nil
        @current = Seasons.list(table, @board, 1).first || start(1)
      end

      # @return [Boolean] whether the next season is to begin
      def due? = @calendar && @clock.now >= @current.ends_at

      # Ends the current season and begins the next.
      #
      # @return [Season] the new one
      def advance
        @current.ended_at = [@clock.now, @current.begins_at].max
        write(@last = @current)
        @pruned = false
        @current = start(@current.number + 1)
      end

      # @param limit [Integer]
      # @return [Array<Season>] the current one and the kept ones before it, the latest first
      def list(limit)
        known = [@current, @last].compact
        older = Seasons.list(@table, @board, limit).select { |season| season.number < known.last.number }
        (known + older).first(limit).select { |season| season.number >= @current.number - @kept }
      end

      # @return [Array<Integer>] numbers of the ended seasons on disk, also of those that are not kept
      def ended = Seasons.ended(@table, @board).map(&:number)

      # @return [Boolean] whether nothing is too old
      def pruned? = @pruned

      # Deletes some outdated data, if there is any.
      #
      # @param members [Elah::Entity::Index] rows of members, to write
      # @param table [Elah::Store::Table] the same, to read
      def prune(members, table)
        oldest = Seasons.first(@table, @board)
        return if oldest.nil? # none is on disk yet
        return @pruned = true if oldest.number >= @current.number - @kept
        return unless oldest.ended? # when its end is on disk, all its members are

        keys = rows_of(table, oldest)
        keys.each { |key| members.delete(key) }
        @rows.delete(Seasons.key(@board, oldest.number)) if keys.size < PRUNED_AT_ONCE
      end

      private

      # Uses the current clock, so that a wrong clock affects only the season that it caused.
      def start(number)
        now = @clock.now
        begins_at, ends_at = @calendar ? @calendar.period(now) : [now, 0]
        begins_at = [begins_at, [@current&.ended_at.to_i, now].min].max
        Season.new(number, begins_at, ends_at, 0).tap { |season| write(season) }
      end

      def write(season) = @rows.put(Seasons.key(@board, season.number), "#{season.begins_at} #{season.ends_at} #{season.ended_at}")

      def rows_of(table, season)
        [season.prefix(@board), Standings.shadow(season.prefix(@board))].flat_map do |prefix|
          table.range(prefix: Elah::RankedSet.row_key("", prefix: prefix), limit: PRUNED_AT_ONCE).map(&:first)
        end
      end
    end
  end
end

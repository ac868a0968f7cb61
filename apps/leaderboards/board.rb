# frozen_string_literal: true

require_relative "boards/stored_responses"
require_relative "boards/changes"
require_relative "boards/member_data"
require_relative "boards/part"
require_relative "boards/reading"
require_relative "boards/rows"
require_relative "boards/seasons"
require_relative "boards/standings"
require_relative "boards/tops"
require_relative "boards/writing"
require_relative "errors"
require_relative "text"

module Leaderboards
  # One board in the worker that owns it: the entity with its ID has the current season, and an entity "ID@NUMBER" each past
  # season that somebody reads. In a board in parts, each part is an entity, "ID.PART". Results are JSON, so that other workers
  # can forward them unchanged.
  class Board < Elah::Entity
    include Boards::Part
    include Boards::Reading
    include Boards::Writing

    entity_name "leaderboards"
    index :members
    index :seasons
    index :responses
    index :metadata
    index :bans

    class << self
      # @return [Elah::Store::Table] the rows of the members of all boards
      def members = region.index(:members)

      # @return [Elah::Entity::Collection]
      def region = self.in(Leaderboards.service.store)

      # @param board [String] id
      # @param limit [Integer]
      # @return [Hash{Symbol=>Array<String>}] keys of a board's rows, up to so many of each index
      def all_rows(board, limit)
        rows = %i[responses metadata bans].to_h { |name| [name, keys(name, "#{board}/", limit)] }
        seasons = keys(:seasons, "#{board}/", limit)
        prefixes = seasons.map { |key| "#{board}/#{key.byteslice(-10, 10).to_i}" }
        rows[:members] = prefixes.flat_map { |prefix| [prefix, Boards::Standings.shadow(prefix)] }
                                 .lazy.flat_map { |prefix| keys(:members, Elah::RankedSet.row_key("", prefix: prefix), limit) }.first(limit)
        rows[:seasons] = rows[:members].empty? ? seasons : []
        rows
      end

      private

      def keys(name, prefix, limit) = region.index(name).range(prefix: prefix, limit: limit).map(&:first)
    end

    # Loads the members.
    def restore
      board, past = key.split("@")
      id = board[/\A\d+/]
      @definition = Leaderboards.service.directory.find(id.to_i) or return
      region = Board.region
      @rows = index(:members)
      @text = Text.new(@definition)
      @responses = Boards::StoredResponses.new(rows_of(:responses), board)
      @member_data = Boards::MemberData.new(board, rows_of(:metadata), index(:bans), region.index(:bans))
      @more = ->(member) { (metadata = @member_data.metadata(member)) && %(,"metadata":#{metadata}) }
      return restore_past(board, past.to_i) if past

      @seasons = Boards::Seasons.new(board, @definition, region.index(:seasons), index(:seasons), Leaderboards.service.clock)
      @seasons.due? ? advance_season : load(@seasons.current)
    end

    private

    # Before each call, a season whose time is over ends, so that every call belongs to exactly one season.
    def refresh
      @definition || restore
      raise BoardNotFound, "There is no leaderboard #{key}." unless @definition

      advance_season if @seasons&.due?
    end

    def season = @season.number

    def prefix = @season.prefix(key[/\A[^@]+/])

    def rows_of(name) = Boards::Rows.new(index(name), Board.region.index(name), Leaderboards.service.clock)

    def restore_past(id, number)
      @seasons = nil
      @season = Boards::Seasons.find(Board.region.index(:seasons), id, number)
      return load(@season) if @season&.ended?

      @definition = nil
      raise SeasonNotFound, "The leaderboard has no season #{number}; it may have been deleted."
    end

    def advance_season
      @season = @seasons.advance
      stand(nil)
    end

    def load(season)
      @season = season
      stand(Board.members)
    end

    def stand(table)
      @shadow = @changes = nil
      @shadow_table = table
      @standings = Boards::Standings.new(@rows, prefix, @definition, table)
      @set = @standings.set
      @tops = Boards::Tops.new
    end

    # Whether a member is in no list of this season. In an ended season, the bans at its end count, not those of today.
    def hidden?(member) = @seasons ? @member_data.banned?(member) : shadow.set.member?(member)

    # The hidden members, loaded at their first use.
    def shadow
      @shadow ||= Boards::Standings.new(@rows, Boards::Standings.shadow(prefix), @definition, @shadow_table)
    end
  end
end

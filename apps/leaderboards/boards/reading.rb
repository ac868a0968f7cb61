# frozen_string_literal: true

require_relative "../errors"

module Leaderboards
  module Boards
    # The reads of {Board}. Results are JSON unless noted otherwise.
    module Reading
      # A range of scores to count and list.
      ScoreRange = Struct.new(:from, :to, :offset, :limit)

      # @param count [Integer]
      # @param style [Symbol]
      # @return [String] the first members
      def top(count, style)
        refresh
        @tops.fetch(@standings.version + @member_data.version, count, style) { list_of(@set.top_json(count, style: style, &more)) }
      end

      # @param member [String]
      # @param style [Symbol]
      # @return [String] the member
      def show(member, style)
        refresh
        among(member) { |set| set.row_json(member, style: style, &more) } || no_member!(member)
      end

      # @param member [String]
      # @param distance [Integer]
      # @param style [Symbol]
      # @return [String] the member between its neighbours
      def around(member, distance, style)
        refresh
        list_of(among(member) { |set| set.around_json(member, distance, style: style, &more) } || no_member!(member))
      end

      # @param first [Integer] the ordinal rank of the first
      # @param last [Integer]
      # @param style [Symbol]
      # @return [String]
      def ranks(first, last, style)
        refresh
        list_of(@set.range_json(first..last, style: style, &more))
      end

      # @param range [ScoreRange]
      # @param style [Symbol]
      # @return [String] members with scores in a range, and how many there are
      def scores(range, style)
        refresh
        scores = range.from..range.to
        rows = @set.by_score(scores, offset: range.offset, limit: range.limit, style: style)
        members(rows, %(,"count":#{@set.count(scores)}))
      rescue Elah::RankedSet::InvalidScore, ArgumentError => e
        raise InvalidScore, e.message
      end

      # @param after [String, nil] cursor
      # @param before [String, nil] cursor
      # @param limit [Integer]
      # @param style [Symbol]
      # @return [String] a page, with the cursors of its neighbours
      def page(after, before, limit, style)
        refresh
        page = @set.page(after: after, before: before, limit: limit, style: style)
        members(page.rows, %(,"after":#{cursor(page.after)},"before":#{cursor(page.before)}))
      rescue Elah::RankedSet::InvalidCursor => e
        raise InvalidCursor, e.message
      end

      # @param names [Array<String>]
      # @param style [Symbol]
      # @return [String] the existing members in the order of their ranks, each with its position among them, and the names of the others
      def list(names, style)
        refresh
        found = @set.list(names, style: :ordinal).compact.sort_by(&:rank).map(&:member)
        rows = @set.list(found, style: style).each_with_index.map { |row, index| text(row, index + 1) }
        missing = (names - found).map { |name| @text.name(name) }
        %({"season":#{season},"size":#{@set.size},"members":[#{rows.join(',')}],"missing":[#{missing.join(',')}]})
      end

      # @param member [String]
      # @return [String] its percentile
      def percentile(member)
        refresh
        percentile, score = among(member) { |set| [set.percentile(member), set.score(member)] }
        percentile or no_member!(member)
        %({"member":#{@text.name(member)},"score":#{@text.score(score)},"percentile":#{percentile}})
      end

      # @param percents [Array<Numeric>]
      # @return [String] the score at each
      def scores_at(percents)
        refresh
        rows = percents.map do |percent|
          score = @set.score_at_percentile(percent)
          %({"percentile":#{percent},"score":#{score ? @text.score(score) : 'null'}})
        end
        %({"size":#{@set.size},"percentiles":[#{rows.join(',')}]})
      end

      # @param bounds [Array<Numeric>, nil]
      # @param buckets [Integer, nil]
      # @return [String] how many members have which score
      def histogram(bounds, buckets)
        refresh
        rows = @set.histogram(bounds: bounds, buckets: buckets).map do |bucket|
          from, to = [bucket.from, bucket.to].map { |score| score ? @text.first(score) : "null" }
          %({"from":#{from},"to":#{to},"count":#{bucket.count}})
        end
        %({"size":#{@set.size},"buckets":[#{rows.join(',')}]})
      rescue Elah::RankedSet::InvalidScore => e
        raise InvalidScore, e.message
      end

      # @param (see #ranks)
      # @return [Array<Elah::RankedSet::Row>]
      def rows(first, last, style)
        refresh
        @set.range(first..last, style: style)
      end

      # @param member [String]
      # @param style [Symbol]
      # @return [Elah::RankedSet::Row]
      def row(member, style)
        refresh
        among(member) { |set| set[member, style: style] } || no_member!(member)
      end

      # @return [Integer] members
      def size
        refresh
        @set.size
      end

      # @return [Array<String>] the banned members
      def banned
        refresh
        @member_data.banned
      end

      # @param limit [Integer]
      # @return [Array<Seasons::Season>] the latest first
      def seasons(limit)
        refresh
        @seasons.list(limit)
      end

      # @return [Array<Integer>] the ended seasons that have rows, also those that {Seasons#prune} has not reached yet
      def ended_seasons
        refresh
        Board.region.flush
        @seasons.ended
      end

      # @param number [Integer]
      # @return [Boolean] whether the season is over, once that is on disk
      def over?(number)
        refresh
        return false if number >= season

        Board.region.flush
        true
      end

      # @param after [String, nil] cursor
      # @param limit [Integer]
      # @return [Array(String, (String, nil), Integer)] lines of JSON, where the next ones begin, and their season
      def export(after, limit)
        refresh
        page = @set.page(after: after, limit: limit)
        lines = page.rows.map do |row|
          metadata = @member_data.metadata(row.member)
          %({"member":#{@text.name(row.member)},"score":#{@text.score(row.score)}#{metadata && %(,"metadata":#{metadata})}}\n)
        end
        [lines.join, page.after, season]
      end

      # @param log_id [String, nil]
      # @param number [Integer]
      # @return [Array] season, size, and the result of {Changes#since}. The log begins at the first call
      def changes(log_id, number)
        refresh
        @changes ||= Changes.new
        [season, @set.size, *@changes.since(log_id, number)]
      end

      private

      # The set as a member sees it: a hidden member is included in it.
      def among(member)
        return yield @set unless hidden?(member)

        score = shadow.set.score(member) or return
        @standings.with(member, score) { |set| yield set }
      end

      def members(rows, beside)
        list_of(@member_data.metadata_any? ? "[#{rows.map { |row| text(row) }.join(',')}]" : @text.rows(rows), beside)
      end

      def list_of(rows, beside = nil) = %({"season":#{season},"size":#{@set.size},"members":#{rows}#{beside}})

      # The parts of a member's object besides rank and score.
      def more = @member_data.metadata_any? ? @more : nil

      def text(row, position = nil) = @text.row(row, @member_data.metadata(row.member), position)

      def cursor(cursor) = cursor ? %("#{season}.#{cursor}") : "null"

      def no_member!(member) = raise(MemberNotFound, "The leaderboard has no member #{member.inspect[0, 64]}.")
    end
  end
end

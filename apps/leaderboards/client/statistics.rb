# frozen_string_literal: true

module Leaderboards
  class Client
    # Operations on many members: pages, ranges, neighbours and statistics. Members are Hashes of member, score and rank; with
    # `with_member_data: true` also of member_data, and with `members_only: true` of member only.
    module Statistics
      # The most members in one response.
      ROWS_MAX = 1000

      # @param page [Integer] from 1
      # @param options [Hash] page_size:, with_member_data:, members_only:
      # @return [Array<Hash>]
      def leaders(page, options = {})
        size = options.fetch(:page_size, @page_size)
        first = (([page, 1].max - 1) * size) + 1
        members_from_rank_range(first, first + size - 1, options)
      end
      alias members leaders

      # @return [Array<Hash>] all members
      def all_leaders(options = {})
        list = []
        after = nil
        loop do
          page = call("GET", "#{path(@leaderboard_name, 'members')}?limit=#{ROWS_MAX}&rank=#{@ranks}#{after && "&after=#{after}"}")
          list.concat(shown(page["members"], options))
          after = page["after"] or return list
        end
      end
      alias all_members all_leaders

      # @param number [Integer]
      def top(number, options = {}) = members_from_rank_range(1, number, options)

      # @param starting_rank [Integer] from 1
      # @param ending_rank [Integer]
      def members_from_rank_range(starting_rank, ending_rank, options = {})
        starting_rank.step(ending_rank, ROWS_MAX).flat_map do |first|
          last = [first + ROWS_MAX - 1, ending_rank].min
          shown(call("GET", "#{path(@leaderboard_name, 'members')}?ranks=#{first}..#{last}&rank=#{@ranks}")["members"], options)
        end
      end

      # @param minimum_score [Numeric]
      # @param maximum_score [Numeric]
      def members_from_score_range(minimum_score, maximum_score, options = {})
        list = []
        loop do
          found = scores(minimum_score, maximum_score, list.size, ROWS_MAX)
          list.concat(shown(found["members"], options))
          return list if list.size >= found["count"] || found["members"].empty?
        end
      end

      # @param position [Integer] rank from 1
      # @return [Hash, nil]
      def member_at(position, options = {}) = position.positive? ? members_from_rank_range(position, position, options).first : nil

      # @param member [String]
      # @return [Array<Hash>] a page with the member in its middle; empty when it is not there
      def around_me(member, options = {})
        distance = options.fetch(:page_size, @page_size) / 2
        found = call_or_nil("GET", "#{path(@leaderboard_name, 'members', member, 'around')}?distance=#{distance}&rank=#{@ranks}")
        found ? shown(found["members"], options) : []
      end

      # @param members [Array<String>]
      # @param options [Hash] sort_by: :rank is the order of ranks, :score that of scores; else that of the list
      # @return [Array<Hash>] score and rank are nil for those that are not there
      def ranked_in_list(members, options = {})
        found = call("POST", "#{path(@leaderboard_name, 'list')}?rank=#{@ranks}", { members: members })
        rows = shown(found["members"], options)
        return rows if options[:sort_by] == :rank
        return rows.sort_by { |row| Rational(row[:score].to_s) } if options[:sort_by] == :score

        known = rows.to_h { |row| [row[:member], row] }
        members.map { |member| known[member] || { member: member, score: nil, rank: nil } }
      end

      # @return [Integer]
      def total_members = call("GET", "#{path(@leaderboard_name, 'top')}?limit=1").fetch("size")

      # @param page_size [Integer, nil]
      # @return [Integer]
      def total_pages(page_size = nil) = (total_members / (page_size || @page_size).to_f).ceil

      # @return [Integer]
      def total_members_in_score_range(min_score, max_score) = scores(min_score, max_score, 0, 1).fetch("count")

      # @return [Integer, nil] the page that a member is on
      def page_for(member, page_size = @page_size)
        rank = call_or_nil("GET", path(@leaderboard_name, "members", member))&.fetch("rank")
        rank && (rank / page_size.to_f).ceil
      end

      # @return [Float, nil] the percentage of members that are not better
      def percentile_for(member) = call_or_nil("GET", path(@leaderboard_name, "members", member, "percentile"))&.fetch("percentile")

      # @param percentile [Numeric] 0 to 100
      # @return [Integer, String, nil]
      def score_for_percentile(percentile) = call("GET", "#{path(@leaderboard_name, 'percentiles')}?at=#{percentile}")["percentiles"].first["score"]

      # @return [Integer] how many were removed
      def remove_members_in_score_range(min_score, max_score)
        members_from_score_range(min_score, max_score, members_only: true).count { |row| remove_member(row[:member]) }
      end

      # @param rank [Integer] the last that stays
      # @return [Integer] how many were removed
      def remove_members_outside_rank(rank) = call("POST", path(@leaderboard_name, "trim"), { keep: rank }).fetch("removed")

      private

      def scores(from, to, offset, limit)
        call("GET", "#{path(@leaderboard_name, 'members')}?scores=#{from}..#{to}&offset=#{offset}&limit=#{limit}&rank=#{@ranks}")
      end

      def shown(rows, options)
        return rows.map { |row| { member: row["member"] } } if options[:members_only]

        rows.map { |row| row(row, with_data: options[:with_member_data]) }
      end
    end
  end
end

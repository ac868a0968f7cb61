# frozen_string_literal: true

require "zlib"
require_relative "estimate"
require_relative "part"

module Leaderboards
  module Boards
    # A board whose members are distributed over parts by their names, so that each part may be in another worker. It has the
    # operations of {Board} that work on parts: a rank is the sum of all parts' counts at one position, requested at once with a
    # time limit. If a part does not reply in time, the rank is estimated from earlier data; a list is not.
    class Split
      # The last rank in a list.
      DEPTH_MAX = 1000
      # The maximum age of a part's summary, in seconds.
      SUMMARY_SECONDS = 1
      LIST_STYLES = %i[ordinal competition].freeze
      STYLES = [*LIST_STYLES, :modified, :fractional].freeze

      # @param definition [Definition]
      # @param boards [Elah::Entity::Collection]
      # @param deadline [Float] seconds
      # @param summaries [Hash{String=>Part::Summary}] the last known summaries, by part
      def initialize(definition, boards, deadline, summaries)
        @definition = definition
        @boards = boards
        @deadline = deadline
        @summaries = summaries
        @text = Text.new(definition)
        @order = Estimate::Order.new(definition.order)
      end

      def submit(member, score, operator, style, metadata = nil)
        check_style(style)
        standing, changed, before = part(member).submit_to_part(member, score, operator, metadata)
        text(standing, rank_or_nil(standing, style), %(,"previous_score":#{before ? @text.score(before) : 'null'},"changed":#{changed}))
      end

      def increment(member, amount, key, style)
        check_style(style)
        _, is_replay = part(member).increment(member, amount, key, :ordinal)
        standing = find(member)
        [text(standing, rank_or_nil(standing, style)), is_replay]
      end

      def put_metadata(member, metadata, style)
        check_style(style)
        part(member).put_metadata(member, metadata, :ordinal)
        standing = find(member)
        text(standing, rank_or_nil(standing, style))
      end

      def delete(member, erase) = part(member).delete(member, erase)

      def show(member, style)
        check_style(style)
        standing = find(member)
        text(standing, rank(standing, style))
      end

      def row(member, style)
        check_style(style)
        standing = find(member)
        number = rank(standing, style)
        raise unavailable if number.is_a?(Estimate)

        Elah::RankedSet::Row.new(member, number, standing.score)
      end

      def top(count, style) = rows_text(first(count, style).first(count))
      def ranks(first, last, style) = rows_text(depth(first, last, style))

      def rows(first, last, style)
        depth(first, last, style).map { |rank, standing| Elah::RankedSet::Row.new(standing.member, rank, standing.score) }
      end

      def around(member, distance, style)
        raise NotInParts, "In a leaderboard in parts, rank must be ordinal for neighbours." unless style == :ordinal

        standing = find(member)
        sides = [true, false].map { |is_before| near(standing.cursor, distance, is_before) }
        ahead = sorted(sides[0].flat_map(&:last)).last(distance)
        behind = sorted(sides[1].flat_map(&:last)).first(distance)
        own = rank(standing, :ordinal)
        raise unavailable if own.is_a?(Estimate)

        rows_text([*ahead, standing, *behind].each_with_index.map { |one, index| [own - ahead.size + index, one] })
      end

      def page(after, before, limit, style)
        raise NotInParts, "In a leaderboard in parts, pages go forward only, and rank must be ordinal." if before || style != :ordinal

        replies = near(after, limit + 1, false)
        found = sorted(replies.flat_map(&:last)).first(limit + 1)
        place = replies.sum(&:first)
        more = found.size > limit ? %("1.#{found[limit - 1].cursor}") : "null"
        rows = found.first(limit).each_with_index.map { |standing, index| [place + index + 1, standing] }
        rows_text(rows, %(,"after":#{more},"before":null))
      end

      def percentile(member)
        standing = find(member)
        places = places(standing)
        raise unavailable unless places.all?(Part::Place)

        size = places.sum(&:size)
        percentile = 100.0 * (size - places.sum(&:better)) / size
        %({"member":#{@text.name(member)},"score":#{@text.score(standing.score)},"percentile":#{percentile}})
      end

      def size = all(:size).sum
      def seasons(_limit) = [Seasons::Season.new(1, 0, 0, 0)]
      def ended_seasons = []
      def remove = keys.map { |key| @boards[key].remove }.any?

      def import(rows, operator)
        rows.each_with_index.group_by { |(member, *), _| key(member) }.flat_map do |key, own|
          @boards[key].import(own.map(&:first), operator).map { |index, code| [own[index].last, code] }
        end
      end

      # Operations that need all members at once, or all parts at one moment.
      %i[scores list scores_at histogram ban pardon banned trim begin_season over? export changes].each do |name|
        define_method(name) { |*| raise NotInParts, "A leaderboard in parts has no #{name.to_s.tr('_', ' ')}." }
      end

      private

      def keys = @keys ||= Array.new(@definition.parts) { |part| "#{@definition.key}.#{part}" }
      def key(member) = keys[Zlib.crc32(member) % @definition.parts]
      def part(member) = @boards[key(member)]

      def find(member)
        result = gather { |gather| gather.call(0, part(member).deferred.find_in_part(member), fallback: nil) }[0]
        value_of(result) { raise unavailable } or raise MemberNotFound, "The leaderboard has no member #{member.inspect[0, 64]}."
      end

      def check_style(style, styles = STYLES)
        styles.include?(style) or raise NotInParts, "In a leaderboard in parts, rank must be #{styles.join(', ')} here, not #{style}."
      end

      # @return [Array] the result of every part
      # @raise [PartUnavailable] when one did not reply in time
      def all(name, *arguments)
        gather { |gather| keys.each { |key| gather.call(key, @boards[key].deferred.public_send(name, *arguments), fallback: nil) } }
          .map { |result| value_of(result) { raise unavailable } }
      end

      def near(cursor, limit, is_before) = all(:near_in_part, cursor, limit, is_before)

      def gather(&block) = Elah.gather(deadline: @deadline, &block)

      def unavailable = PartUnavailable.new("A part of the leaderboard did not reply in time.")

      # A refusal counts as a reply.
      def value_of(result)
        return result.value if result.returned?
        raise result.error if result.error.is_a?(Refused)

        yield
      end

      # @return [Array<Part::Place, nil>] of each part; nil for a part without a reply in time
      def places(standing)
        now = Leaderboards.service.clock.now
        results = gather do |gather|
          keys.each do |key|
            gather.call(key, @boards[key].deferred.place_in_part(standing.member, standing.cursor, standing.score), fallback: nil)
            next if @summaries[key] && @summaries[key].at > now - SUMMARY_SECONDS

            gather.call([key], @boards[key].deferred.summarize, fallback: nil)
          end
        end
        keys.each { |key| @summaries[key] = results[[key]].value if results[[key]]&.returned? }
        keys.map { |key| value_of(results[key]) { nil } }
      end

      # @return [Numeric, Estimate] an estimate if a part did not reply in time
      def rank(standing, style)
        places = places(standing)
        missing = keys.reject.with_index { |_, index| places[index] }
        return exact(places, style) if missing.empty?

        summaries = missing.map { |key| @summaries[key] || raise(unavailable) }
        Estimate.of(exact(places.compact, :ordinal), summaries, standing.score, @order)
      end

      # The write is done, whether or not its rank is known.
      def rank_or_nil(standing, style)
        rank(standing, style)
      rescue PartUnavailable
        nil
      end

      def exact(places, style)
        better = places.sum(&:better)
        case style
        when :ordinal then places.sum(&:before) + 1
        when :competition then better + 1
        when :modified then better + places.sum(&:equal)
        when :fractional then better + ((places.sum(&:equal) + 1) / 2.0)
        end
      end

      def depth(first, last, style)
        raise NotInParts, "In a leaderboard in parts, lists must end at rank #{DEPTH_MAX}." if last > DEPTH_MAX

        first(last, style)[(first - 1)..] || []
      end

      # @return [Array<Array(Integer, Part::Standing)>] the first members with their ranks
      def first(count, style)
        check_style(style, LIST_STYLES)
        rank = nil
        found = sorted(near(nil, count, false).flat_map(&:last)).first(count)
        found.each_with_index.map do |standing, index|
          rank = index + 1 unless style == :competition && index.positive? && found[index - 1].score == standing.score
          [rank, standing]
        end
      end

      def sorted(standings) = standings.sort { |one, other| @order.compare(one.score, other.score).nonzero? || one.member.b <=> other.member.b }

      def rows_text(ranked, more = nil)
        rows = ranked.map { |rank, standing| @text.row(Elah::RankedSet::Row.new(standing.member, rank, standing.score), standing.metadata) }
        %({"season":1,"as_of":"#{now}","members":[#{rows.join(',')}]#{more}})
      end

      def text(standing, rank, more = nil)
        number, estimate = rank.is_a?(Estimate) ? [rank.rank, rank.to_json_members] : [rank, nil]
        row = @text.row(Elah::RankedSet::Row.new(standing.member, number, standing.score), standing.metadata)
        %(#{row.chop}#{more},"as_of":"#{now}"#{estimate}})
      end

      def now = Time.at(Leaderboards.service.clock.now).utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    end
  end
end

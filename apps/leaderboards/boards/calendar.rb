# frozen_string_literal: true

require "date"

module Leaderboards
  module Boards
    # The beginning and end of seasons: hours, days, weeks from Monday and months, in a time zone. Times are seconds since 1970.
    class Calendar
      LENGTHS = %w[hour day week month].freeze
      HOUR = 3600
      # The step of the search when a day has no midnight.
      STEP = 900

      # @param zone [String]
      # @return [Boolean] whether it is "UTC" or a name of the tz database, as "Europe/Berlin"
      def self.zone?(zone)
        return true if zone == "UTC"

        require "tzinfo"
        TZInfo::Timezone.all_identifiers.include?(zone)
      end

      # @param length [String] one of {LENGTHS}
      # @param zone [String]
      def initialize(length, zone)
        @length = length
        return if zone == "UTC"

        require "tzinfo"
        @zone = TZInfo::Timezone.get(zone)
      end

      # @param now [Integer]
      # @return [Array(Integer, Integer)] when the period of a moment begins, and when the next does
      def period(now)
        local = local(now)
        return [now - (now_in_hour = (local.min * 60) + local.sec), now - now_in_hour + HOUR] if @length == "hour"

        first = first_day(Date.new(local.year, local.month, local.day))
        [midnight(first), midnight(next_first(first))]
      end

      private

      def local(now)
        time = Time.at(now).utc
        @zone ? @zone.utc_to_local(time) : time
      end

      def first_day(day)
        case @length
        when "day" then day
        when "week" then day - (day.cwday - 1)
        when "month" then Date.new(day.year, day.month, 1)
        end
      end

      def next_first(day) = @length == "month" ? day.next_month : day + (@length == "week" ? 7 : 1)

      # The first moment of a day: the earlier of two midnights, or the end of the gap if there is none.
      def midnight(day)
        local = Time.utc(day.year, day.month, day.day)
        return local.to_i unless @zone

        begin
          @zone.local_to_utc(local) { |periods| periods.max_by(&:observed_utc_offset) }.to_i
        rescue TZInfo::PeriodNotFound
          local += STEP
          retry
        end
      end
    end
  end
end

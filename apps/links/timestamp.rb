# frozen_string_literal: true

module Links
  # Points in time: milliseconds since 1970 inside, ISO 8601 outside.
  module Timestamp
    # The text after the second, by milliseconds.
    FRACTIONS = Array.new(1000) { |milliseconds| Kernel.format(".%03dZ", milliseconds).freeze }.freeze
    PATTERN = /\A(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)\z/

    class << self
      # @return [Integer] milliseconds
      def now = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)

      # @param time [Time]
      # @return [Integer] milliseconds
      def of(time) = (time.to_i * 1000) + (time.usec / 1000)

      # @param text [String]
      # @return [Integer, nil] milliseconds, nil when the text is no time
      def parse(text)
        year, month, day, hour, minute, second, fraction, zone = text.match(PATTERN)&.captures
        # Time reads 31 February as 3 March.
        return unless year && Time.utc(year.to_i, month.to_i, day.to_i).day == day.to_i && second.to_i < 60

        time = Time.new(year.to_i, month.to_i, day.to_i, hour.to_i, minute.to_i, second.to_i, zone.upcase == "Z" ? "UTC" : zone)
        (time.to_i * 1000) + fraction.to_s.ljust(3, "0")[0, 3].to_i
      rescue ArgumentError
        nil
      end

      # @param milliseconds [Integer]
      # @return [String] in UTC
      def format(milliseconds) = second(milliseconds / 1000) + FRACTIONS[milliseconds % 1000]

      private

      # Most links are shown when they are created: many in the same second.
      def second(seconds)
        last, text = @last_second
        return text if last == seconds

        text = Time.at(seconds, in: "UTC").strftime("%Y-%m-%dT%H:%M:%S")
        @last_second = [seconds, text].freeze
        text
      end
    end
  end
end

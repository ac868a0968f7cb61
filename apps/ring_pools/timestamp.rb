# frozen_string_literal: true

require "time"

module RingPools
  # Points in time: microseconds since 1970 inside, ISO 8601 outside.
  module Timestamp
    PATTERN = /\A\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)\z/

    class << self
      # @param text [String]
      # @return [Integer, nil] microseconds, nil when the text is no time
      def parse(text)
        return unless text.match?(PATTERN)

        time = Time.iso8601(text)
        (time.to_i * 1_000_000) + time.usec
      rescue ArgumentError
        nil
      end

      # @param microseconds [Integer, nil]
      # @return [String, nil] in UTC
      def format(microseconds)
        microseconds && Time.at(microseconds / 1_000_000, microseconds % 1_000_000, :usec, in: "UTC").strftime("%Y-%m-%dT%H:%M:%S.%6NZ")
      end
    end
  end
end

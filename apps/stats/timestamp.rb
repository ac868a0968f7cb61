# frozen_string_literal: true

require "time"

module Stats
  # Points in time: seconds since 1970 inside, ISO 8601 outside.
  module Timestamp
    PATTERN = /\A\d{4}-\d\d-\d\d(?:[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d))?\z/

    class << self
      # @param name [String] of the parameter, for the message
      # @param text [String, nil] a time, or a day, which begins at midnight in UTC
      # @param default [Integer]
      # @return [Integer] seconds
      # @raise [Refused]
      def parse(name, text, default)
        return default if text.nil?
        raise ArgumentError unless text.is_a?(String) && PATTERN.match?(text)

        Time.iso8601(complete(text.upcase)).to_i
      rescue ArgumentError
        raise Refused.new("invalid_time", "#{name} must be a time such as 2030-01-31T23:59:59Z, or a day.", 400)
      end

      # @param seconds [Integer]
      # @return [String] in UTC
      def format(seconds) = Time.at(seconds, in: "UTC").strftime("%Y-%m-%dT%H:%M:%SZ")

      private

      def complete(text)
        return "#{text}T00:00:00Z" if text.length == 10

        text.sub(/(T\d\d:\d\d)(?=[Z+-])/, '\1:00')
      end
    end
  end
end

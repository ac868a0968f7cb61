# frozen_string_literal: true

require_relative "../errors"

module Elah
  # Checks of the limits of native clients: options in `_max` are whole numbers, those in `_seconds` times.
  module ClientBounds
    # A year, and what the native half can count.
    SECONDS_MAX = 31_536_000
    COUNT_MAX = (2**31) - 1

    # @param client [Class] class that the error names
    # @param name [Symbol]
    # @param value [Object]
    # @param zero [Boolean] whether it may be 0
    # @raise [Elah::OptionError]
    def self.check(client, name, value, zero: false)
      is_count = name.end_with?("_max")
      is_number = is_count ? value.is_a?(Integer) : value.is_a?(Numeric) && value.real?
      most = is_count ? COUNT_MAX : SECONDS_MAX
      return if is_number && value <= most && (value.positive? || (zero && value.zero?))

      expected = "a #{is_count ? 'whole number' : 'number of seconds'} #{zero ? 'from' : 'above'} 0, up to #{most}"
      raise OptionError, "#{client}: #{name} must be #{expected}, not #{value.inspect}."
    end
  end

  private_constant :ClientBounds
end

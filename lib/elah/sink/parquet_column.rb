# frozen_string_literal: true

module Elah
  class Sink
    # A column of {ParquetFiles}: its name and the type of its values.
    class ParquetColumn
      # A value of another kind than the column's.
      class Misfit < Error; end

      KINDS = %i[text integer float boolean time].freeze
      NAME = /\A[a-zA-Z_]\w*\z/.freeze
      INTEGERS = (-(2**63)...2**63).freeze
      # What an event has for a Time, unless ActiveSupport writes it.
      TEXT_OF_TIME = /\A(?<date>\S+) (?<time>\S+) (?:(?<utc>UTC)|(?<hours>[+-]\d\d)(?<minutes>\d\d))\z/.freeze
      private_constant :NAME, :INTEGERS, :TEXT_OF_TIME

      # @return [String]
      attr_reader :name

      # @return [Symbol] one of {KINDS}
      attr_reader :kind

      # @param name [String]
      # @param kind [Symbol]
      # @raise [Elah::OptionError]
      def initialize(name, kind)
        raise OptionError, "#{name.inspect} is not a name of a column." unless NAME.match?(name)
        raise OptionError, "The kind of a column must be one of #{KINDS.join(', ')}, not #{kind.inspect}." unless KINDS.include?(kind)

        @name = name
        @kind = kind
      end

      # @param value [Object, nil] nil is no value, in each kind. A time is a Time, a String as ISO 8601 or Time#to_s have it, or seconds
      #   since 1970.
      # @return [String, Integer, Float, Boolean, nil] the value as the file stores it, times in microseconds
      # @raise [Misfit]
      def cast(value) = value.nil? ? nil : __send__(@kind, value)

      private

      def text(value)
        value = value.name if value.is_a?(Symbol)
        fits = value.is_a?(String) && (value.encoding == Encoding::UTF_8 || value.ascii_only?) && value.valid_encoding?
        fits ? value : misfit(value)
      end

      def integer(value) = value.is_a?(Integer) && INTEGERS.cover?(value) ? value : misfit(value)

      def float(value) = value.is_a?(Numeric) && value.real? ? value.to_f : misfit(value)

      def boolean(value) = [true, false].include?(value) ? value : misfit(value)

      def time(value)
        case value
        when Time then integer(value.to_i * 1_000_000 + value.usec)
        when Integer, Float then integer((value * 1_000_000).round)
        when String then time(parse(value))
        else misfit(value)
        end
      rescue FloatDomainError
        misfit(value)
      end

      # Time alone takes the 30th of February for the 1st of March.
      def parse(text)
        require "time"
        parts = TEXT_OF_TIME.match(text)
        standard = parts ? "#{parts[:date]}T#{parts[:time]}#{parts[:utc] ? 'Z' : "#{parts[:hours]}:#{parts[:minutes]}"}" : text
        Date.iso8601(standard)
        Time.iso8601(standard)
      rescue ArgumentError
        misfit(text)
      end

      def misfit(value) = raise(Misfit, "The column #{@name} holds #{@kind} values; #{value.inspect[0, 60]} is not one.")
    end
  end
end

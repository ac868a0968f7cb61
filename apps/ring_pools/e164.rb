# frozen_string_literal: true

module RingPools
  # Telephone numbers: integers of the digits of E.164 inside (country code first, at most 15 digits), texts outside.
  module E164
    PATTERN = /\A\+?[1-9]\d{7,14}\z/
    SEPARATORS = %r{[\s().\-/]}
    NORTH_AMERICA = 10_000_000_000
    TEXT_BYTES_MAX = 64

    class << self
      # Accepts +18883906665, 1 (888) 390-6665 and, like the original, ten digits for a number in North America.
      #
      # @param text [String]
      # @return [Integer, nil] nil when it is no telephone number
      def parse(text)
        return if text.bytesize > TEXT_BYTES_MAX

        plus = text.start_with?("+")
        digits = text.gsub(SEPARATORS, "")
        digits = "1#{digits}" if !plus && digits.match?(/\A[2-9]\d{9}\z/)
        return unless digits.match?(PATTERN) && (plus || digits.bytesize > 10)

        number = digits.delete_prefix("+").to_i
        number unless number / NORTH_AMERICA == 1 && !north_american?(number)
      end

      # @param number [Integer]
      # @return [String] as +18883906665
      def format(number) = "+#{number}"

      # @param number [Integer]
      # @return [String] as the original writes it: ten digits in North America, else all
      def national(number)
        text = number.to_s
        number / NORTH_AMERICA == 1 ? text[1, 10] : text
      end

      # @param number [Integer]
      # @return [String] as 888-390-6665 in North America, else as +442079460000
      def formatted(number)
        return format(number) unless number / NORTH_AMERICA == 1

        text = number.to_s
        "#{text[1, 3]}-#{text[4, 3]}-#{text[7, 4]}"
      end

      private

      # Area code and exchange begin with 2 to 9.
      def north_american?(number)
        area, rest = (number % NORTH_AMERICA).divmod(10_000_000)
        area >= 200 && rest >= 2_000_000
      end
    end
  end
end

# frozen_string_literal: true

module Links
  # The bytes that order links by their creation: the time, big endian, then the code.
  module Place
    TIME_BYTES = 8
    PATTERN = /\A[\x00-\x7f].{7}[A-Za-z0-9_-]{1,64}\z/mn

    class << self
      # @param link [Link] or what else has its created_at and code
      # @return [String] binary
      def of(link) = at(link.created_at, link.code)

      # @param created_at [Integer] milliseconds
      # @param code [String]
      # @return [String] binary
      def at(created_at, code) = [created_at].pack("Q>") << code.b

      # @param place [String] binary
      # @return [Boolean] whether it is valid
      def possible?(place) = PATTERN.match?(place)

      # @param place [String]
      # @return [String] the code in it
      def code_at(place) = place.byteslice(TIME_BYTES..).force_encoding(Encoding::UTF_8)
    end
  end
end

# frozen_string_literal: true

module Links
  # The cursor of a list: names a position in the order of the links, so that links added or deleted between two pages cause no
  # repetition and no gap.
  module Cursor
    class << self
      # @param place [String] binary
      # @return [String] letters, digits, - and _
      def encode(place) = [place].pack("m0").tr("+/", "-_").delete("=")

      # @param text [String]
      # @return [String, nil] the place; nil for a text that {encode} did not return
      def decode(text)
        place = text.tr("-_", "+/").unpack1("m")
        place if !place.empty? && encode(place) == text
      end
    end
  end
end

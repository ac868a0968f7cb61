# frozen_string_literal: true

module Links
  # Owns the text by which a client asks for the page after the one that it has. It names a place in the order of the links,
  # so that links which come or go meanwhile neither repeat nor hide others.
  module Cursor
    class << self
      # @param place [String] binary
      # @return [String] letters, digits, - and _
      def encode(place) = [place].pack("m0").tr("+/", "-_").delete("=")

      # @param text [String]
      # @return [String, nil] the place, nil when {encode} never gave the text
      def decode(text)
        place = text.tr("-_", "+/").unpack1("m")
        place if !place.empty? && encode(place) == text
      end
    end
  end
end

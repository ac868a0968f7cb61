# frozen_string_literal: true

module Items
  # The cursor of a list: names the last item of a page, so that items added or deleted between two pages cause no repetition and
  # no gap.
  module Cursor
    ID_MAX = 2**63 - 1

    class << self
      # @param id [Integer] of the last item
      # @return [String] letters, digits, - and _
      def encode(id) = [[id].pack("Q>")].pack("m0").tr("+/", "-_").delete("=")

      # @param text [String]
      # @return [Integer, nil] the ID; nil for a text that {encode} did not return
      def decode(text)
        id = text.tr("-_", "+/").unpack1("m").unpack1("Q>")
        id if id && id <= ID_MAX && encode(id) == text
      end
    end
  end
end

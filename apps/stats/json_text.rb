# frozen_string_literal: true

module Stats
  # JSON that is sent as it was stored, however deep it is nested.
  JSONText = Struct.new(:text) do
    # @return [String]
    def to_json(*) = text
  end
end

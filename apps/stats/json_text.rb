# frozen_string_literal: true

module Stats
  # JSON that is sent as stored, with any depth of nesting.
  JSONText = Struct.new(:text) do
    # @return [String]
    def to_json(*) = text
  end
end

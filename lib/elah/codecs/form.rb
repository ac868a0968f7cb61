# frozen_string_literal: true

require_relative "../native"

module Elah
  # Query strings and forms, native (ext/elah/src/codecs/form.rs).
  module Form
    # @!method self.parse(text, params_max: 4096, depth_max: 32, semicolons: true)
    #   @param text [String]
    #   @param params_max [Integer] maximum number of parameters
    #   @param depth_max [Integer] maximum nesting of names
    #   @param semicolons [Boolean] whether `;` separates too, as in Rack 2.2
    #   @return [Hash{String=>Object}] nested as Rack nests them
    #   @raise [ParseError]
  end
end

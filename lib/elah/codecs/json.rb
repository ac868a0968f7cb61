# frozen_string_literal: true

require_relative "../native"

module Elah
  # JSON, native (ext/elah/src/codecs/json_parser.rs, json_writer.rs, json_pluck.rs).
  module JSON
    # @!method self.generate(value)
    #   @param value [Object]
    #   @return [String] the bytes of Ruby's `JSON.generate`, in UTF-8
    #   @raise [GenerateError] for a value that JSON cannot hold

    # @!method self.parse(text, symbolize_names: false, depth_max: 100, names_max: 65_536)
    #   @param text [String]
    #   @param symbolize_names [Boolean]
    #   @param depth_max [Integer] maximum nesting
    #   @param names_max [Integer] maximum number of names of one object
    #   @return [Object] Hash, Array, String, Integer, Float, Boolean or nil
    #   @raise [ParseError] with line and column

    # @!method self.parse_within(text, depth_max, names_max)
    #   Does the same as {.parse} without keywords, whose Hash costs more than a small text.
    #   @api private

    # @!method self.pluck(text, *paths)
    #   Reads members of an object, and builds nothing else of it.
    #   @param text [String]
    #   @param paths [Array<String, Array<String>>] 1 to 64: the name of a member, or the names that lead to it through nested objects
    #   @return [Array<Object>] a value for each path; nil where there is none
    #   @raise [ParseError] when the text is not JSON
    #   @raise [ArgumentError] for a wrong number of paths or names
    #   @raise [TypeError] for a name that is not a String
  end
end

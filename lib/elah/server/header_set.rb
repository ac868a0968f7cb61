# frozen_string_literal: true

require_relative "../native"

module Elah
  # Headers of a response that are checked once and sent many times, native (ext/elah/src/server/header_set.rs).
  class HeaderSet
    # @!method self.new(headers)
    #   @param headers [Hash{String=>String, Array<String>}]
    #   @return [HeaderSet]
    #   @raise [InvalidHeader]

    # @!method self.from_rack(headers)
    #   @api private

    # @!method include?(name)
    #   @param name [String] in lower case
    #   @return [Boolean]

    # @!method to_h
    #   @return [Hash{String=>String, Array<String>}]
  end
end

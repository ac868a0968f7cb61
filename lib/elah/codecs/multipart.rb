# frozen_string_literal: true

require_relative "../native"

module Elah
  # Multipart bodies, native (ext/elah/src/codecs/multipart.rs).
  module Multipart
    # @!method self.parse(body, content_type, parts_max: 4096, files_max: 128, depth_max: 32)
    #   @param body [String]
    #   @param content_type [String] with its boundary
    #   @param parts_max [Integer] maximum number of parts
    #   @param files_max [Integer] maximum number of files
    #   @param depth_max [Integer] maximum nesting of names
    #   @yieldparam tempfile [Object] the Tempfile of each file, also one that is not in the result because a later part has its name
    #   @return [Hash{String=>Object}] Rack's: texts as Strings, files as Hashes with a Tempfile
    #   @raise [ParseError]
  end
end

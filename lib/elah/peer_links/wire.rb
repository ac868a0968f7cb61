# frozen_string_literal: true

module Elah
  class PeerLinks
    # How objects become bytes and bytes objects. Ruby's own format: both ends are workers of one server, and a link carries nothing
    # but what processes of the same user have written.
    module Wire
      # @param object [Object]
      # @return [String]
      # @raise [TypeError] when it cannot be written
      def self.dump(object) = Marshal.dump(object)

      # @param bytes [String] from {dump}
      # @return [Object]
      # @raise [ArgumentError, TypeError] when they are not, or hold an object of a class that is not known here
      def self.load(bytes) = Marshal.load(bytes)
    end
  end
end

# frozen_string_literal: true

module Elah
  class PeerLinks
    # Serialisation of objects, by Marshal, which can run any code of the app. So a link carries only bytes of processes that may run code here
    # anyway: of the same user on this machine, or of a machine with a certificate of the cluster.
    module Wire
      # @param object [Object]
      # @return [String]
      # @raise [TypeError] when it cannot be written
      def self.dump(object) = Marshal.dump(object)

      # @param bytes [String] from {dump}
      # @return [Object]
      # @raise [ArgumentError, TypeError] when the bytes are invalid, or hold an object of a class that is not known here
      def self.load(bytes) = Marshal.load(bytes)
    end
  end
end

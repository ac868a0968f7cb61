# frozen_string_literal: true

module Elah
  class PeerLinks
    # Serialisation of objects, by Marshal, which can run any code of the app. So a link carries only bytes of processes that may run code here
    # anyway: of the same user on this machine, or of a machine with a certificate of the cluster.
    module Wire
      # @param object [Object]
      # @return [String]
      # @raise [TypeError] when it cannot be written
      def self.dump(object) = refused("written") { Marshal.dump(object) }

      # @param bytes [String] from {dump}
      # @return [Object]
      # @raise [ArgumentError, TypeError] when the bytes are invalid, or hold an object of a class that is not known here or cannot be loaded
      def self.load(bytes) = refused("read") { Marshal.load(bytes) }

      # What code of the app raises here, or the load of its file, is the affair of the call.
      def self.refused(what)
        yield
      rescue ScriptError, SystemStackError, SystemExit => e
        raise TypeError, "An object cannot be #{what}: #{Text.of_exception(e)}"
      end
      private_class_method :refused
    end
  end
end

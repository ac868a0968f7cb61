# frozen_string_literal: true

require_relative "../store/interface/pages"

module Elah
  # The shards of entities, native (ext/elah/src/entity/shards.rs).
  module Shards
    # @!method self.of(key, shards)
    #   @api private
    # @!method self.check_arguments(arguments)
    #   @api private
    # @!method self.pack_replies(replies)
    #   @api private
    # @!method self.unpack_replies(bytes)
    #   @api private
    # @!method self.place_replies(*arguments)
    #   @api private

    # The stored state of one entity: ordered keys with values, both Strings. Writes are gathered, and stored together when the call has ended.
    # Reads see gathered writes.
    class State
      include Store::Interface::Pages

      # @!method get(key)
      #   @param key [String]
      #   @return [String, nil]

      # @!method put(key, value)
      #   @param key [String] with the entity's own key up to 477 bytes
      #   @param value [String]
      #   @return [nil]
      #   @raise [Store::InvalidKey, Store::TooLarge]

      # @!method delete(key)
      #   @param key [String]
      #   @return [nil]

      # Entries in the order of their keys' bytes. All conditions must hold.
      #
      # @param (see Elah::Store::Table#range)
      # @return [Array<Array(String, String)>] keys and values; at most `limit`, see {#each} for all
      def range(prefix: nil, from: nil, to: nil, after: nil, limit: Store::Table::LIMIT, reverse: false)
        range_native([prefix, from, to, after], limit, reverse)
      end

      private :range_native
    end
  end
end

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
    # Reads see gathered writes. What they return is UTF-8 where the bytes are valid, else binary: a text equals the one that was written, also after
    # the entity was restored.
    class State
      include Store::Interface::Pages

      alias get_native get
      private :get_native, :range_native

      # @param key [String]
      # @return [String, nil]
      def get(key)
        value = get_native(key)
        value && Text.tag(value)
      end

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
        Text.tag_entries(range_native([prefix, from, to, after], limit, reverse))
      end
    end
  end
end

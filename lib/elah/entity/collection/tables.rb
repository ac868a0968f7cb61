# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # The tables of a collection: the entities' own keys, the indexes, the results of {Reference#once}, and the timers. Calls write to them by their
      # numbers.
      # @api private
      module Tables
        # @param name [Symbol] of an index of the class
        # @return [Elah::Store::Table] to read its rows
        # @raise [ArgumentError] when there is no such index
        def index(name)
          Index.number(@entity_class, name)
          index_table(name)
        end

        # @api private
        # @return [Integer]
        def once_number = @entity_class.indexes.size + 1

        # @api private
        # @return [Integer]
        def timers_number = once_number + 1

        # @api private
        # @return [String] what the keys of an entity's rows begin with
        def prefix_of(key) = [shard_of(key), key.bytesize, key].pack("nCa*")

        # @api private
        # @return [Array<String>]
        def table_names
          ["entity:#{@name}", *@entity_class.indexes.map { |name| "entity:#{@name}:#{name}" }, "entity-once:#{@name}", "entity-timers:#{@name}"]
        end

        private

        def index_table(name) = @store.table("entity:#{@name}:#{name}")
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # All collections of this process, by the store's directory and the name of their entities.
      # @api private
      module Registry
        # Numbers of entities are below this.
        NUMBERS = 1 << 30

        # @param entity_class [Class]
        # @param store [Elah::Store]
        # @return [Collection] the collection of this class and store
        # @raise [ArgumentError] when another class has that name in the store, or a table of this one; when the class wants its
        #   reads checked but not its writes stored; when entities, jobs or broadcasts of this process have another opening of the cluster
        def of(entity_class, store)
          if entity_class.reads == :checked && entity_class.durability == :memory
            raise ArgumentError, "#{entity_class}: reads :checked needs durability :disk."
          end

          name = entity_class.entity_name
          id = [store.dir, name]
          forget_closed(store.dir) unless store.closed?
          collection = (collections[id] ||= numbered(new(entity_class, store)))
          return collection if collection.entity_class.equal?(entity_class)

          raise ArgumentError, "The entities #{name} of #{store.dir} are those of #{collection.entity_class}, not of #{entity_class}."
        end

        # @param entity_class [Class]
        # @return [Boolean] whether it, or a subclass, has a collection
        def of_class?(entity_class) = collections.each_value.any? { |collection| collection.entity_class <= entity_class }

        # @param number [Integer] see {Collection#number}
        # @return [Collection] the collection with this number
        # @raise [ArgumentError] when there is none
        def at(number)
          by_number[number] or raise ArgumentError, "This worker does not know the entities that were called: create them while the app is loaded."
        end

        # @return [Integer] number of these entities in messages and stored results, the same in each worker and after the data folder has moved. Of
        #   two data folders in one process the second is told apart by its path.
        def number_of(store, name)
          number = Shards.of("#{store.identity}\0#{name}", NUMBERS)
          other = by_number[number]
          return number unless other && other.name == name && other.store.dir != store.dir

          Shards.of("#{store.dir}\0#{name}", NUMBERS)
        end

        # @param identities [Array<String>]
        # @return [Boolean] whether a hand-over of this process waits for one of these entities
        def leaving?(identities) = collections.each_value.any? { |collection| collection.leaving?(identities) }

        # @return [Integer] number of entities of all classes in this process's memory
        def entities_in_memory = collections.each_value.sum(&:size)

        # Waits until all writes that were acknowledged from memory are on disk: before a fork.
        def flush_all = collections.values.each(&:flush)

        # As {flush_all}, when the process ends.
        def flush_at_end = collections.values.each(&:flush_at_end)

        # As {flush_all}, of one store.
        #
        # @param store [Elah::Store]
        # @return [nil]
        def flush(store)
          collections.values.each { |collection| collection.flush if collection.store.equal?(store) }
          nil
        end

        # See {Collection#leave}.
        #
        # @param store [Elah::Store::Cluster]
        # @return [Array<Activation>]
        def leave(store) = collections.each_value.select { |collection| collection.store.equal?(store) }.flat_map(&:leave)

        # @return [Array<Elah::Store, Elah::Store::Cluster>] the open ones of all collections
        def stores = collections.each_value.map(&:store).reject(&:closed?)

        # Logs, in one worker of a server, which other servers have entities of the same stores in memory.
        def warn_of_others = Placement.current.slot.zero? && Epochs.warn_of_others(collections.keys.map(&:first).uniq)

        # From the first iteration of a worker's loop on, fires the timers of the collections that have some, and takes part in the clusters on which
        # there are entities, so that this worker owns some before the first call.
        #
        # @param event_loop [Elah::EventLoop]
        # @raise [Store::OtherShards] when the option `shards` is not that of a data folder: no call of its entities could run
        def start(event_loop)
          stores.grep(Store).each { |store| check_shards(store) }
          active = collections.values.select { |collection| collection.timers || collection.clustered? }
          event_loop.post { active.each { |collection| event_loop.spawn(Task.service) { collection.start } } }
        end

        # Resets the collections in a fork, which owns none of its parent's entities.
        def reset_all
          Epochs.reset_all
          collections.each_value(&:reset)
        end

        private

        # Why a store cannot be read is told by the calls.
        def check_shards(store)
          store.check_shards(store.placement.shards)
        rescue Store::OtherShards
          raise
        rescue Store::Error
          nil
        end

        def collections = @collections ||= {}
        def by_number = @by_number ||= {}

        # Another opening of a store that was closed begins with no entities in memory, and claims its shards anew.
        def forget_closed(dir)
          closed = collections.select { |(of, _), collection| of == dir && collection.store.closed? }
          return if closed.empty?

          closed.each do |id, collection|
            by_number.delete(collections.delete(id).number)
            Reference.withdraw(collection)
          end
          Epochs.forget(dir) if collections.each_key.none? { |of, _| of == dir }
        end

        # As those of an index of `x` with the name `seats`, and of a class with the name `x:seats`.
        def check_tables(collection)
          others = collections.each_value.select { |other| other.store.dir == collection.store.dir }
          other = others.find { |candidate| candidate.table_names.intersect?(collection.table_names) } or return
          raise ArgumentError, "The entities #{collection.name} and #{other.name} would share a table of the store: rename one, or an index."
        end

        def numbered(collection)
          collection.store.take_part if collection.clustered?
          check_tables(collection)
          other = by_number[collection.number]
          raise ArgumentError, "The entities #{collection.name} and #{other.name} cannot be told apart by their number: rename one." if other

          Reference.publish(collection.references, collection)
          by_number[collection.number] = collection
        end
      end
    end
  end
end

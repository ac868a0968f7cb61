# frozen_string_literal: true

module Elah
  class Entity
    class Region
      # All regions of this process, by the store's directory and the name of their entities.
      module Registry
        # Numbers of entities are 0 until this.
        NUMBERS = 1 << 30

        # @param entity_class [Class]
        # @param store [Elah::Store]
        # @return [Region] the one of this class and store
        # @raise [ArgumentError] when another class has that name in the store
        def of(entity_class, store)
          name = entity_class.entity_name
          region = (regions[[store.dir, name]] ||= numbered(new(entity_class, store)))
          return region if region.entity_class.equal?(entity_class)

          raise ArgumentError, "The entities #{name} of #{store.dir} are those of #{region.entity_class}, not of #{entity_class}."
        end

        # @param number [Integer] see {Region#number}
        # @return [Region] that another worker means
        # @raise [ArgumentError] when there is none
        def at(number)
          by_number[number] or raise ArgumentError, "This worker does not know the entities that were called: they are made when the app is loaded."
        end

        # @return [Integer] what names these entities in the messages between workers, the same in each of them
        def number_of(dir, name) = Shards.of("#{dir}\0#{name}", NUMBERS)

        # @return [Integer] how many entities of all classes are in memory in this process
        def entities_in_memory = regions.each_value.sum(&:size)

        # Waits until what was answered in memory is on disk: before a fork, and when the process ends.
        def flush_all = regions.each_value(&:flush)

        # Says in the log, in one worker of a server, which other servers have entities of the same stores in memory.
        def warn_of_others = Placement.current.slot.zero? && Epochs.warn_of_others(regions.keys.map(&:first).uniq)

        # Begins anew in a fork, which owns nothing of its parent's.
        def reset_all
          Epochs.reset_all
          regions.each_value(&:reset)
        end

        private

        def regions = @regions ||= {}
        def by_number = @by_number ||= {}

        def numbered(region)
          other = by_number[region.number]
          raise ArgumentError, "The entities #{region.name} and #{other.name} cannot be told apart by their number: rename one." if other

          Reference.publish(region.references, region)
          by_number[region.number] = region
        end
      end
    end
  end
end

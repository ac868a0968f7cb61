# frozen_string_literal: true

module Stats
  # The erasure of a visitor: in the store, at the destination, and among parked events. Events still in the journal are dropped
  # during processing.
  class Erasure
    # @param archive [Archive]
    # @param rollups [Rollups]
    # @param destination [Destination, nil]
    # @param parked [Parked]
    def initialize(archive, rollups, destination, parked)
      @archive = archive
      @rollups = rollups
      @destination = destination
      @parked = parked
    end

    # @param visitor [String] 32 hexadecimal digits
    # @return [Hash{Symbol=>Integer}] how many events there were, by place
    # @raise [Refused] if the destination cannot erase; the other places have erased theirs by then
    def erase(visitor)
      here = @archive.erase(visitor)
      @rollups.forget(visitor)
      parked = @parked.erase(visitor)
      { stored: here, parked: parked, delivered: @destination ? @destination.erase(visitor) : 0 }
    end
  end
end

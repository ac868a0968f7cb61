# frozen_string_literal: true

module Stats
  # The erasure of a visitor: in the store, at the destination, and among parked events. Events still in the journal are dropped
  # during processing.
  class Erasure
    LETTERS_AT_ONCE = 500

    # @param archive [Archive]
    # @param destination [Destination, nil]
    # @param sink [Elah::Sink]
    def initialize(archive, destination, sink)
      @archive = archive
      @destination = destination
      @sink = sink
    end

    # @param visitor [String] 32 hexadecimal digits
    # @return [Hash{Symbol=>Integer}] how many events there were, by place
    # @raise [Refused] when the destination cannot forget; the other places have done so then
    def erase(visitor)
      here = @archive.erase(visitor)
      parked = @sink.discard(parked_ids(visitor))
      { stored: here, parked: parked, delivered: @destination ? @destination.erase(visitor) : 0 }
    end

    private

    def parked_ids(visitor)
      ids = []
      after = nil
      while (letters = @sink.dead_letters(after: after, limit: LETTERS_AT_ONCE)).any?
        ids.concat(letters.select { |letter| letter.bytes.include?(visitor) }.map(&:id))
        after = letters.last.id
      end
      ids
    end
  end
end

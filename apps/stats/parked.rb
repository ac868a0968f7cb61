# frozen_string_literal: true

require_relative "json_text"

module Stats
  # The events that did not match their schema, or that the destination rejected: dead letters of the sink, each with its reason.
  # When a schema changes, parked events that now match are delivered under their old IDs.
  class Parked
    LETTERS_AT_ONCE = 500

    # @param sink [Elah::Sink]
    # @param schemas [Schemas]
    def initialize(sink, schemas)
      @sink = sink
      @schemas = schemas
    end

    # @param after [String, nil] the id of the last one of the page before
    # @param limit [Integer]
    # @return [Array<Hash{Symbol=>Object}>]
    def page(after: nil, limit: 100) = @sink.dead_letters(after: after, limit: limit).map { |letter| shown(letter) }

    # Retries the events that a schema has parked.
    #
    # @param name [String] of the schema
    # @return [Integer] how many events go on
    def release(name)
      released = 0
      after = nil
      while (letters = @sink.dead_letters(after: after, limit: LETTERS_AT_ONCE)).any?
        after = letters.last.id
        released += @sink.replay(fitting(letters, name).map(&:id))
      end
      released
    end

    private

    def fitting(letters, name)
      letters.select { |letter| letter.reason.start_with?("schema #{name.inspect} version ") }
             .select { |letter| @schemas.reason(name) { params(letter) }.nil? }
    end

    def params(letter) = Elah::JSON.parse(letter.bytes)["params"]

    def shown(letter)
      { id: letter.id, reason: letter.reason, parked_at: letter.parked_at.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), event: JSONText.new(letter.bytes) }
    end
  end
end

# frozen_string_literal: true

require_relative "json_text"
require_relative "event_fields"

module Stats
  # The events that did not match their schema, or that the destination rejected: dead letters of the sink, each with its reason.
  # When a schema changes, parked events that now match are delivered under their old IDs. They are on the machine that accepted
  # them. On a cluster each machine checks its own again when another machine has changed a schema or erased a visitor.
  class Parked
    LETTERS_AT_ONCE = 100
    FOLLOW_SECONDS = 1
    CHANGES = "all"
    SCHEMA = /\Aschema ".*" version \d+: /m.freeze

    # @param sink [Elah::Sink]
    # @param store [Elah::Store]
    # @param schemas [Schemas]
    # @param archive [Archive]
    def initialize(sink, store, schemas, archive)
      @sink = sink
      @schemas = schemas
      @archive = archive
      @changes = store.counter("changes")
      @followed = nil
    end

    # Reviews the parked events at the start, since a process may have ended before it did, and follows the changes of other machines.
    #
    # @param machines [Boolean] whether there are others
    # @return [void]
    def follow(machines:)
      Elah.every(FOLLOW_SECONDS, detached: true) do
        changes = machines ? @changes.get(CHANGES) : 0
        review unless changes == @followed
        @followed = changes
      rescue Elah::Store::Unavailable
        nil # the next tick tries again, and the log has it already
      end
    end

    # Reviews some parked events. Those that have just been parked need it too: a schema may have been changed, or a visitor erased, while
    # they were processed.
    #
    # @param letters [Array<Elah::Sink::DeadLetter>]
    def review_page(letters)
      events = letters.map { |letter| EventFields.new(letter) }
      kept = @archive.without_erased(events)
      @sink.discard((events - kept).map(&:id))
      fitting = kept.select { |event| SCHEMA.match?(event.event.reason) && @schemas.reason(event.name) { event.params }.nil? }
      @sink.replay(fitting.map(&:id)) if fitting.any?
    end

    # @param after [String, nil] the id of the last one of the page before
    # @param limit [Integer]
    # @return [Array<Hash{Symbol=>Object}>]
    def page(after: nil, limit: 100) = @sink.dead_letters(after: after, limit: limit).map { |letter| shown(letter) }

    # Retries the events that a schema has parked.
    #
    # @param name [String] of the schema
    # @return [Integer] how many events are processed again
    def release(name)
      released = 0
      each_page do |letters|
        broken = letters.select { |letter| letter.reason.start_with?("schema #{name.inspect} version ") }
        released += @sink.replay(broken.select { |letter| @schemas.reason(name) { EventFields.new(letter).params }.nil? }.map(&:id))
      end
      released
    ensure
      changed # afterwards, so that the events of this machine are counted here
    end

    # Discards the events of a visitor.
    #
    # @param visitor [String]
    # @return [Integer] how many there were
    def erase(visitor)
      ids = []
      each_page { |letters| ids.concat(letters.select { |letter| letter.bytes.include?(visitor) }.map(&:id)) }
      @sink.discard(ids)
    ensure
      changed
    end

    private

    # Notifies the other machines that parked events must be checked again.
    def changed = @changes.increment(CHANGES)

    def each_page
      after = nil
      while (letters = @sink.dead_letters(after: after, limit: LETTERS_AT_ONCE)).any?
        after = letters.last.id
        yield letters
      end
    end

    # Does for all schemas and visitors what {#release} and {#erase} do for one.
    def review = each_page { |letters| review_page(letters) }

    def shown(letter)
      { id: letter.id, reason: letter.reason, parked_at: letter.parked_at.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), event: JSONText.new(letter.bytes) }
    end
  end
end

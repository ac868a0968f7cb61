# frozen_string_literal: true

require_relative "event_fields"

module Stats
  # Processes events from the journal: checks each against its schema, forwards it to the destination, then stores and counts it. An
  # event that arrives again with the same ID is not counted twice.
  class EventProcessor
    # @param store [Elah::Store]
    # @param archive [Archive]
    # @param rollups [Rollups]
    # @param schemas [Schemas]
    # @param destination [#deliver, nil] nil if events only go to the archive
    # @yieldparam letters [Array<Elah::Sink::DeadLetter>] rejected events, once they are parked
    def initialize(store, archive:, rollups:, schemas:, destination:, &parked)
      @store = store
      @archive = archive
      @rollups = rollups
      @schemas = schemas
      @destination = destination
      @parked = parked
    end

    # @param events [Array<Elah::Sink::Event>]
    # @return [void]
    # @raise [Elah::Sink::Rejected] with the reason for each rejected event; the others are processed
    def deliver(events)
      reasons = {}
      given = events.map { |event| EventFields.new(event) }
      events = @archive.without_erased(given)
      remove(given - events) # an earlier attempt may have sent them
      reasons.update(@schemas.faults(events))
      good = events.reject { |event| reasons.key?(event.id) }
      good = send_on(good, reasons) if @destination
      keep(good) unless good.empty?
      park(events - good, reasons)
    end

    # @param letters [Array<Elah::Sink::DeadLetter>]
    def parked(letters) = @parked&.call(letters)

    # @param error [Exception]
    # @return [Boolean] whether the destination failed, rather than an event
    def passing?(error) = @destination.respond_to?(:passing?) && @destination.passing?(error)

    private

    # @return [Array<EventFields>] the events that the destination has accepted
    def send_on(events, reasons)
      @destination.deliver(events.map(&:event)) unless events.empty?
      events
    rescue Elah::Sink::Rejected => e
      reasons.merge!(e.reasons)
      events.reject { |event| e.reasons.key?(event.id) }
    end

    def keep(events)
      late = []
      @store.transaction do |tx|
        erased = @archive.erased(tx, events)
        late, kept = events.partition { |event| erased.include?(event.visitor) }
        @rollups.add(tx, @archive.add(tx, kept))
      end
      remove(late)
    end

    # Removes events of erased visitors that have reached the destination after their erasure.
    def remove(events)
      events.group_by(&:visitor).each { |visitor, own| @destination.remove(visitor, own.map(&:id)) } if @destination
    end

    # Not those of visitors who have been erased meanwhile: their erasure has looked through the parked events already.
    def park(events, reasons)
      parked = @archive.without_erased(events)
      raise Elah::Sink::Rejected, reasons.slice(*parked.map(&:id)) if parked.any?
    end
  end
end

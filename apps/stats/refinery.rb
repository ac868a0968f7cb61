# frozen_string_literal: true

require_relative "refined"

module Stats
  # The processing of an event from the journal: checks it against its schema, sends it to the destination, stores and counts it,
  # once by its ID however often it arrives. It runs when there is time.
  class Refinery
    # @param store [Elah::Store]
    # @param archive [Archive]
    # @param rollups [Rollups]
    # @param schemas [Schemas]
    # @param destination [#deliver, nil] beside the archive
    def initialize(store, archive:, rollups:, schemas:, destination:)
      @store = store
      @archive = archive
      @rollups = rollups
      @schemas = schemas
      @destination = destination
    end

    # @param events [Array<Elah::Sink::Event>]
    # @return [void]
    # @raise [Elah::Sink::Rejected] with the faults of some of them; the others are processed
    def deliver(events)
      reasons = {}
      refined = @archive.without_erased(events.map { |event| Refined.new(event) })
      reasons.update(@schemas.faults(refined))
      good = refined.reject { |event| reasons.key?(event.id) }
      good = send_on(good, reasons) if @destination
      keep(good) unless good.empty?
      raise Elah::Sink::Rejected, reasons unless reasons.empty?
    end

    # @param error [Exception]
    # @return [Boolean] whether the destination is the cause, not an event
    def passing?(error) = @destination.respond_to?(:passing?) && @destination.passing?(error)

    private

    # @return [Array<Refined>] the events that the destination has accepted
    def send_on(events, reasons)
      @destination.deliver(events.map(&:event)) unless events.empty?
      events
    rescue Elah::Sink::Rejected => e
      reasons.merge!(e.reasons)
      events.reject { |event| e.reasons.key?(event.id) }
    end

    def keep(events)
      @store.transaction do |tx|
        @rollups.add(tx, @archive.add(tx, events))
      end
    end
  end
end

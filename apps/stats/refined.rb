# frozen_string_literal: true

module Stats
  # Owns what the collector reads out of an event when it has time: what it is about, and what counts it.
  class Refined
    # @return [Elah::Sink::Event]
    attr_reader :event

    # @param event [Elah::Sink::Event]
    def initialize(event)
      @event = event
      @data = event.data
      @params = @data["params"] || {}
    end

    # @return [String]
    def id = @event.id

    # @return [Integer] when it was accepted, in seconds since 1970
    def seconds = @event.accepted_ms / 1000

    # @return [String, nil]
    def visitor = @data["visitor"]

    # @return [String, nil]
    def bot = @data["bot"]

    # @return [String, nil] what kind of event it is, by its sender's words; schemas have the same names
    def name
      named = @params["event"]
      named if named.is_a?(String) && !named.empty?
    end

    # @return [Hash{String=>Object}] what a schema speaks of
    attr_reader :params

    # @return [Array(Integer, String, (String, nil), (String, nil))] minute, path, name and bot: events with the same are counted alike
    def group = [@event.accepted_ms / 60_000, Stats.named_path(@data), name, bot]
  end
end

# frozen_string_literal: true

module Stats
  # Owns what the collector reads out of an event when it has time: what it is about, and what counts it.
  class Refined
    # What is read of each event; the rest of it stays text.
    MEMBERS = ["visitor", "bot", "path", %w[params path].freeze, %w[params event].freeze].freeze

    # @return [Elah::Sink::Event]
    attr_reader :event

    # @return [String, nil]
    attr_reader :visitor

    # @return [String, nil]
    attr_reader :bot

    # @return [String, nil] what kind of event it is, by its sender's words; schemas have the same names
    attr_reader :name

    # @param event [Elah::Sink::Event]
    def initialize(event)
      @event = event
      values = Elah::JSON.pluck(event.bytes, *MEMBERS)
      @visitor, @bot, path, named, name = values.map! { |value| value if value.is_a?(String) }
      # As of {Stats.named_path}.
      @path = named || path
      @name = name unless name&.empty?
    end

    # @return [String]
    def id = @event.id

    # @return [Integer] when it was accepted, in seconds since 1970
    def seconds = @event.accepted_ms / 1000

    # @return [Hash{String=>Object}] what a schema speaks of
    def params = @event.data["params"] || {}

    # @return [Array(Integer, String, (String, nil), (String, nil))] minute, path, name and bot: events with the same are counted alike
    def group = [@event.accepted_ms / 60_000, @path, @name, @bot]
  end
end

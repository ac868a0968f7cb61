# frozen_string_literal: true

module Stats
  # The fields that processing reads from an event, and its groups for counting.
  class EventFields
    # The members that are read; the rest of the event stays text.
    MEMBERS = ["visitor", "bot", "path", %w[params path].freeze, %w[params event].freeze].freeze

    # @return [Elah::Sink::Event, Elah::Sink::DeadLetter]
    attr_reader :event

    # @return [String, nil]
    attr_reader :visitor

    # @return [String, nil]
    attr_reader :bot

    # @return [String, nil] the name of the event, as sent; schemas have the same names
    attr_reader :name

    # @param event [Elah::Sink::Event, Elah::Sink::DeadLetter]
    def initialize(event)
      @event = event
      values = Elah::JSON.pluck(event.bytes, *MEMBERS)
      @visitor, @bot, path, named, name = values.map! { |value| value if value.is_a?(String) }
      # By {Stats.named_path}.
      @path = named || path
      @name = name unless name&.empty?
    end

    # @return [String]
    def id = @event.id

    # @return [Integer] when it was accepted, in seconds since 1970
    def seconds = @event.accepted_ms / 1000

    # @return [Hash{String=>Object}] the data that a schema describes
    def params = @event.data["params"] || {}

    # @return [Array(Integer, String, (String, nil), (String, nil))] minute, path, name and bot: events with the same are counted alike
    def group = [@event.accepted_ms / 60_000, @path, @name, @bot]
  end
end

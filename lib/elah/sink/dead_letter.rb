# frozen_string_literal: true

module Elah
  class Sink
    # An event that its destination rejected, with the reason.
    class DeadLetter
      REASON_CHARACTERS_MAX = 1000
      private_constant :REASON_CHARACTERS_MAX

      # @return [String] the event's id as 16 bytes
      # @api private
      attr_reader :raw_id

      # @return [String]
      attr_reader :stream

      # @return [Integer] when it was accepted, in milliseconds since 1970
      attr_reader :accepted_ms

      # @return [Integer] when it was parked, in milliseconds since 1970
      attr_reader :parked_ms

      # @return [String] the reason, in the destination's words
      attr_reader :reason

      # @return [Integer] how often the event was parked since it was last withdrawn: a replay withdraws only the letter that it has read
      # @api private
      attr_reader :parkings

      # @return [String] the event's JSON as UTF-8, or its bytes as a binary String
      attr_reader :bytes

      # @param event [Event]
      # @param reason [String]
      # @param parked_ms [Integer]
      # @return [DeadLetter]
      # @api private
      def self.of(event, reason, parked_ms)
        reason = Text.utf8(reason)[0, REASON_CHARACTERS_MAX]
        new(event.raw_id, event.bytes, "stream" => event.stream, "accepted_ms" => event.accepted_ms, "parked_ms" => parked_ms,
                                       "reason" => reason, "json" => event.json?, "parkings" => 1)
      end

      # @param raw_id [String]
      # @param dumped [String] as of {#dump}
      # @return [DeadLetter]
      # @api private
      def self.load(raw_id, dumped)
        line, bytes = dumped.split("\n", 2)
        head = JSON.parse(line)
        bytes.force_encoding(head["json"] ? Encoding::UTF_8 : Encoding::BINARY)
        new(raw_id, bytes, head)
      end

      # @api private
      def initialize(raw_id, bytes, head)
        @raw_id = raw_id
        @bytes = bytes
        @head = head
        @stream, @accepted_ms, @parked_ms, @reason, @json, @parkings =
          head.values_at("stream", "accepted_ms", "parked_ms", "reason", "json", "parkings")
      end

      # @param earlier [DeadLetter] of the same event
      # @return [DeadLetter] the letter that replaces it
      # @api private
      def replacing(earlier) = DeadLetter.new(@raw_id, @bytes, @head.merge("parkings" => earlier.parkings + 1))

      # @return [String] the event's id
      def id = Id.text(@raw_id)

      # @return [Hash{String=>Object}, String] the data that was pushed, as {Event#data}
      def data = Event.new(@raw_id, @stream, @accepted_ms, @json, @bytes).data

      # @return [Boolean] whether the event is a Hash
      def json? = @json

      # @return [Time]
      def parked_at = Time.at(0, @parked_ms, :millisecond, in: "UTC")

      # @return [String] its stored form: a line of JSON, then the event's bytes
      # @api private
      def dump = "#{JSON.generate(@head)}\n".b << @bytes.b
    end
  end
end

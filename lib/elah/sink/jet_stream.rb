# frozen_string_literal: true

require_relative "nats_connection"

module Elah
  class Sink
    # A stream of NATS JetStream as a destination. The server forgets an event that comes again by its id (`Nats-Msg-Id`) within the stream's
    # `duplicate_window`; one that comes later than that is there twice.
    #
    # An event counts as delivered when the server has acknowledged it. JetStream does so before it syncs: what it acknowledged in the time
    # of its `sync_interval` (two minutes, unless its configuration says otherwise) is lost when its machine loses power.
    class JetStream
      # The server's number for a message that is over the stream's `max_msg_size`.
      MESSAGE_TOO_LARGE = 10_054
      NAME = /\A[A-Za-z0-9_-]+\z/.freeze
      SUBJECT = /\A[^\s*>]+\z/.freeze
      private_constant :MESSAGE_TOO_LARGE, :NAME, :SUBJECT

      # @param url [String] nats://HOST:PORT or nats://USER:PASSWORD@HOST:PORT; the port is 4222 unless it is given. There is no TLS.
      # @param stream [String] its name
      # @param subject [String] under which events are published, one that the stream takes
      # @raise [Elah::OptionError]
      def initialize(url, stream:, subject: stream)
        raise OptionError, "#{stream.inspect} is no name of a stream." unless NAME.match?(stream)
        raise OptionError, "#{subject.inspect} is no subject to publish to." unless SUBJECT.match?(subject)

        @stream = stream
        @subject = subject
        @nats = NATSConnection.new(url)
      end

      # Makes the stream, on disk, unless it is there.
      #
      # @param duplicate_seconds [Integer] how long the server knows the ids of events
      # @return [self]
      # @raise [Elah::Unavailable] when the server does not, or refuses
      def create(duplicate_seconds: 3600)
        window = duplicate_seconds * 1_000_000_000
        config = { name: @stream, subjects: [@subject], storage: "file", retention: "limits", duplicate_window: window }
        answer = @nats.request([["$JS.API.STREAM.CREATE.#{@stream}", {}, JSON.generate(config)]]).first
        error = JSON.parse(answer)["error"] if answer
        raise Unavailable, "NATS did not make the stream #{@stream}: #{error ? error['description'] : 'JetStream is off'}." if error || answer.nil?

        self
      end

      # Publishes a batch and waits for the acknowledgement of each event.
      #
      # @param events [Array<Event>]
      # @return [void]
      # @raise [Rejected, Elah::Unavailable]
      def deliver(events)
        reasons = {}
        fitting = events.select { |event| fits?(event) || !(reasons[event.id] = "It is over the server's max_payload.") }
        answers = @nats.request(fitting.map { |event| [@subject, { "Nats-Msg-Id" => event.id }, event.bytes] })
        fitting.zip(answers) { |event, answer| check(event, answer, reasons) }
        raise Rejected, reasons if reasons.any?
      end

      # @return [void]
      def close = @nats.close

      private

      # With room for the header.
      def fits?(event) = event.bytes.bytesize + 100 <= @nats.payload_bytes_max

      def check(event, answer, reasons)
        raise Unavailable, "No stream of NATS takes #{@subject}." if answer.nil?

        error = JSON.parse(answer)["error"] or return
        raise Unavailable, "NATS refused an event: #{error['description']}." unless error["err_code"] == MESSAGE_TOO_LARGE

        reasons[event.id] = error["description"]
      end
    end
  end
end

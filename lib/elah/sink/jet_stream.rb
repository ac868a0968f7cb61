# frozen_string_literal: true

require_relative "nats_connection"

module Elah
  class Sink
    # A destination: a stream of NATS JetStream. Within the stream's `duplicate_window` the server drops a repeated event by its ID (`Nats-Msg-Id`).
    # A later repetition is stored twice.
    #
    # An event counts as delivered when the server has acknowledged it. JetStream acknowledges before it syncs. A power loss of its machine loses
    # events acknowledged during the last `sync_interval` (two minutes by default).
    class JetStream
      # The server's code for a message larger than the stream's `max_msg_size`.
      MESSAGE_TOO_LARGE = 10_054
      # The server's code for a stream of this name with other settings.
      STREAM_EXISTS = 10_058
      # More than the header of a message has.
      HEADER_BYTES = 100
      NAME = /\A[A-Za-z0-9_-]+\z/.freeze
      SUBJECT = /\A[^\s*>]+\z/.freeze
      private_constant :MESSAGE_TOO_LARGE, :STREAM_EXISTS, :HEADER_BYTES, :NAME, :SUBJECT

      # @param url [String, Array<String>] nats://HOST:PORT or nats://USER:PASSWORD@HOST:PORT; the port is 4222 unless it is given. `tls://` asks
      #   for TLS. Several servers of a cluster stand in an Array or with commas in between: when one fails, the next is asked.
      # @param stream [String] its name
      # @param subject [String] under which events are published, one that the stream takes
      # @param ca_file [String, nil] PEM file of the authorities to trust in place of the system's
      # @raise [Elah::OptionError]
      def initialize(url, stream:, subject: stream, ca_file: nil)
        raise OptionError, "#{stream.inspect} is not the name of a stream." unless NAME.match?(stream)
        raise OptionError, "#{subject.inspect} is not a subject to publish to." unless SUBJECT.match?(subject)

        @stream = stream
        @subject = subject
        @nats = NATSConnection.new(url, ca_file: ca_file)
      end

      # Creates the stream, on disk, unless it exists. One with other settings keeps them.
      #
      # @param duplicate_seconds [Integer] how long the server remembers the IDs of events
      # @return [self]
      # @raise [Elah::Unavailable] when the server refuses, or has no JetStream
      # @raise [Elah::DeadlineExceeded] when it does not respond within `sink_attempt_seconds`
      def create(duplicate_seconds: 3600)
        window = duplicate_seconds * 1_000_000_000
        config = { name: @stream, subjects: [@subject], storage: "file", retention: "limits", duplicate_window: window }
        request = ["$JS.API.STREAM.CREATE.#{@stream}", {}, JSON.generate(config)]
        reply = Elah.timeout(Elah.config.sink_attempt_seconds) { @nats.alone { @nats.request([request]) } }.first
        error = JSON.parse(reply)["error"] if reply
        return self if error && error["err_code"] == STREAM_EXISTS

        raise Unavailable, "NATS did not create the stream #{@stream}: #{error ? error['description'] : 'JetStream is off'}." if error || reply.nil?

        self
      end

      # Publishes a batch and waits for the acknowledgement of each event.
      #
      # @param events [Array<Event>]
      # @return [void]
      # @raise [Rejected, Elah::Unavailable]
      def deliver(events)
        fitting, large, replies = @nats.alone { publish(events) }
        reasons = large.to_h { |event| [event.id, "The event is larger than the server's max_payload."] }
        fitting.zip(replies) { |event, reply| check(event, reply, reasons) }
        raise Rejected, reasons if reasons.any?
      end

      # @return [String] without the password
      def inspect = "#<#{self.class} #{@stream}>"

      # @return [void]
      def close = @nats.alone { @nats.close }

      private

      # @return [Array] the published events, those that are too large for the server, and its replies to the first
      def publish(events)
        bytes_max = @nats.payload_bytes_max - HEADER_BYTES
        fitting, large = events.partition { |event| event.bytes.bytesize <= bytes_max }
        [fitting, large, @nats.request(fitting.map { |event| [@subject, { "Nats-Msg-Id" => event.id }, event.bytes] })]
      end

      # Whatever subscribes to the subject may reply too, so only the stream's own acknowledgement counts.
      def check(event, reply, reasons)
        raise Unavailable, "No NATS stream accepts the subject #{@subject}." if reply.nil?

        stream, number, error, code, reason = JSON.pluck(reply, "stream", "seq", "error", %w[error err_code], %w[error description])
        return reasons[event.id] = reason.to_s if code == MESSAGE_TOO_LARGE
        raise Unavailable, "NATS refused an event: #{reason}." if error
        return if stream == @stream && number.is_a?(Integer)

        raise Unavailable, "The reply to an event is not from the stream #{@stream}#{": it is from #{stream}" if stream.is_a?(String)}."
      rescue JSON::ParseError
        raise Unavailable, "The reply to an event is not from the stream #{@stream}."
      end
    end
  end
end

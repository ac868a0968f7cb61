# frozen_string_literal: true

# Responses that are sent in pieces: stream, sse, sendfile.
require_relative "../sse"

module Elah
  module Framework
    # Mixed into {Endpoint}.
    module Streaming
      CHUNK_BYTES = 16_384
      private_constant :CHUNK_BYTES

      # The output of a stream. It sends the head with the first piece, so that an exception before that can have a response.
      class Output
        # @yieldreturn [#write] the sink of the server, once it has the head
        # @api private
        def initialize(&start)
          @start = start
        end

        # Sends the head now.
        #
        # @return [#write]
        # @api private
        def sink = @sink ||= @start.call

        # Sends a piece. Waits while the client is slow.
        #
        # @param piece [#to_s]
        # @return [Integer] bytes
        # @raise [Elah::ClientGone]
        def write(piece)
          text = piece.to_s
          sink.write(text) unless text.empty?
          text.bytesize
        end

        # @param piece [#to_s]
        # @return [self]
        def <<(piece)
          write(piece)
          self
        end
      end

      # Streams the response: from a block that writes to `out`, from an object with `each`, or from the file at a path. The handler ends first;
      # then the block runs. The headers are sent with the first piece. An object with `close` is closed at the end of the request.
      #
      # @example
      #   stream { |out| rows.each { |row| out << row.to_json << "\n" } }
      # @param source [String, #each, nil]
      # @yieldparam out [Output]
      # @return [void]
      # @raise [ArgumentError]
      def stream(source = nil, &block)
        return @_stream unless source || block

        @_changed = true
        header "content-length", nil
        header "transfer-encoding", nil
        header "cache-control", "no-cache"
        @_stream = block || _writer(source)
      end

      # Sends a file.
      #
      # @param path [String]
      # @return [void]
      # @raise [ArgumentError]
      def sendfile(path)
        raise ArgumentError, "Argument must be a file path" unless path.is_a?(String)

        stream(path)
      end
      alias file sendfile

      # Sends Server-Sent Events for as long as the block runs.
      #
      # @example
      #   sse { |events| 3.times { |n| events.push({ n: n }, event: "tick", id: n) } }
      # @param keepalive_seconds [Numeric, nil] time without events after which a comment is sent
      # @yieldparam events [ServerSentEvents]
      # @return [void]
      def sse(keepalive_seconds: ServerSentEvents::KEEPALIVE_SECONDS, &block)
        stream { |out| ServerSentEvents.run(out, keepalive_seconds, &block) }
        content_type "text/event-stream"
      end

      # Sends all later events of a {Broadcast}. Under Elah's own server the handler ends at once, and its fiber is free.
      #
      # @param source [Elah::Broadcast]
      # @return [void]
      def broadcast(source)
        stream { |out| source.write_to(out) }
        @_broadcast = source
        content_type "text/event-stream"
      end

      private

      def _writer(source)
        if source.respond_to?(:each)
          _close_at_end(source) if source.respond_to?(:close)
          return ->(out) { source.each { |piece| out << piece } }
        end
        raise ArgumentError, "Stream object must respond to :each." unless source.is_a?(String)

        lambda do |out|
          File.open(source, "rb") { |file| out << file.readpartial(CHUNK_BYTES) until file.eof? }
        end
      end

      # Under another server the end of the request is that of its body.
      def _close_at_end(source)
        task = _request_task
        task ? task.at_end { source.close } : @_streamed_source = source
      end

      def _end_rack_stream
        @_streamed_source&.close
      ensure
        _run_finally
      end

      # Under Rack the server runs the writer later, and `finally` runs after that. Elah sends the head with an empty piece.
      def _rack_stream(status, headers)
        writer = @_stream
        response = @_request.stream(status, headers, method(:_end_rack_stream)) { |sink| writer.call(Output.new { sink.tap { sink.write("") } }) }
        @_finally_later = true
        response
      end

      # Natively the writer runs here. If it fails after the first piece, the connection is closed, so that the
      # client sees an incomplete response. A client that disconnects is not a failure.
      def _send_stream(status, headers)
        return _rack_stream(status, headers) if @_request.is_a?(RackRequest)
        return @_broadcast.join(@_request, status, headers) if @_broadcast

        sink = nil
        output = Output.new { sink = _start(status, headers) }
        @_stream.call(output)
        output.sink.close
      rescue ClientGone
        nil
      ensure
        sink&.break_off
      end

      # The request may have lost its client meanwhile, or have the response to a deadline.
      def _start(status, headers)
        raise ClientGone, "The client closed the connection before the response had begun." unless @_request.awaits_response?

        sink = @_request.start(status, headers)
        @_streaming = true
        length = Integer(headers["content-length"], exception: false)
        length ? MeasuredStream.new(sink, @_request, length) : sink
      end
    end
  end
end

# frozen_string_literal: true

# The format of Server-Sent Events, and the comments that keep an idle stream open.
module Elah
  module Framework
    # Writes events to a stream.
    class ServerSentEvents
      KEEPALIVE_SECONDS = 15
      LINE_BREAK = /\r\n|\r|\n/
      private_constant :LINE_BREAK

      # Runs the block with the events of a stream, until the server drains. Under a fiber scheduler a second fiber sends the comments that
      # keep the stream open; elsewhere the block calls {#keep_alive}. The head is sent before the first event, but after that fiber has begun:
      # without a fiber the response is a 503.
      #
      # @param out [Streaming::Output]
      # @param keepalive_seconds [Numeric, nil]
      # @yieldparam events [ServerSentEvents]
      # @api private
      def self.run(out, keepalive_seconds)
        events = new(out)
        events.keep_alive_every(keepalive_seconds) if keepalive_seconds && Fiber.scheduler
        out.sink
        until_drain { yield events }
      ensure
        events&.finish
      end

      # Runs a block that streams events. When Elah's own server drains, the block ends where it waits.
      # @api private
      def self.until_drain(&block)
        event_loop = Elah.current_loop
        event_loop ? event_loop.until_drain(&block) : yield
      end

      # An event as it is sent; see {#push}.
      #
      # @return [String]
      # @raise [ArgumentError] when a text is not valid in its encoding
      # @api private
      def self.frame(data, id: nil, event: nil, retry_ms: nil)
        frame = +""
        frame << "id: #{line(id)}\n" unless id.nil?
        frame << "event: #{line(event)}\n" unless event.nil?
        frame << "retry: #{Integer(retry_ms)}\n" unless retry_ms.nil?
        lines(data.is_a?(String) ? data : Elah::JSON.generate(data)).each { |part| frame << "data: #{part}\n" }
        frame << "\n"
      end

      # An empty text is one empty line.
      # @api private
      def self.lines(text) = text.empty? ? [""] : utf8(text).split(LINE_BREAK, -1)

      # A field must stay on its line.
      def self.line(value) = utf8(value.to_s).delete("\r\n\0")

      # The stream is UTF-8, whatever the encoding of a text.
      def self.utf8(text)
        converted = Text.utf8?(text) ? text.dup.force_encoding(Encoding::UTF_8) : text.encode(Encoding::UTF_8)
        return converted if converted.valid_encoding?

        raise EncodingError
      rescue EncodingError
        raise ArgumentError, "An event must be text that is valid in its encoding, #{text.encoding}, not #{text.inspect}."
      end
      private_class_method :line, :utf8

      # @param out [#write]
      # @api private
      def initialize(out)
        @out = out
        @lock = Thread::Mutex.new
        @end = Thread::ConditionVariable.new
        @is_open = true
        @is_writing = false
        @sent_at = Concurrency.now
      end

      # Sends an event.
      #
      # @param data [Object] a text, or an object to write as JSON
      # @param id [#to_s, nil] ID that the client repeats in Last-Event-ID
      # @param event [#to_s, nil] the type
      # @param retry_ms [Integer, nil] time after which a client reconnects
      # @return [self]
      # @raise [Elah::ClientGone]
      # @raise [ArgumentError] when a text is not valid in its encoding
      def push(data, id: nil, event: nil, retry_ms: nil)
        write(self.class.frame(data, id: id, event: event, retry_ms: retry_ms))
      end

      # @param data [Object]
      # @return [self]
      def <<(data) = push(data)

      # Sends a comment, which clients ignore.
      #
      # @param text [#to_s]
      # @return [self]
      def comment(text) = write(self.class.lines(text.to_s).map { |part| ": #{part}\n" }.join << "\n")

      # Sends the comment that keeps proxies from closing an idle stream.
      #
      # @return [self]
      def keep_alive = comment("keep-alive")

      # Sends that comment whenever nothing was sent for this time.
      #
      # @param seconds [Numeric]
      # @api private
      def keep_alive_every(seconds)
        Fiber.schedule do
          while @is_open
            rest = @sent_at + seconds - Concurrency.now
            keep_alive unless rest.positive? || @is_writing
            @lock.synchronize { @end.wait(@lock, rest.positive? ? rest : seconds) if @is_open }
          end
        rescue Elah::ClientGone
          finish
        end
      end

      # Ends the fiber that sends the comments.
      # @api private
      def finish
        @lock.synchronize do
          @is_open = false
          @end.broadcast
        end
      end

      private

      def write(frame)
        @is_writing = true
        @out.write(frame)
        @sent_at = Concurrency.now
        self
      ensure
        @is_writing = false
      end
    end
  end
end

# frozen_string_literal: true

require_relative "chunked_body"
require_relative "stream"
require_relative "take_over"

module Elah
  module Rack
    # The ways to send the body of a Rack response.
    module Delivery
      # Parts with more bytes together are sent one by one instead of as one copy.
      JOINED_BYTES_MAX = 65_536
      PARTIAL_CONTENT = 206
      private_constant :JOINED_BYTES_MAX, :PARTIAL_CONTENT

      private

      # Sends a complete body. If a caller waits for the end of the response, this method waits for it too.
      #
      # @param parts [Array<#to_s>]
      def send_parts(parts)
        parts = parts.map(&:to_s)
        bytes = parts.sum(&:bytesize)
        if @request.rack_finishers.empty? && (parts.size < 2 || bytes <= JOINED_BYTES_MAX)
          respond(parts.size == 1 ? parts.first : joined(parts))
        else
          stream = start(bytes)
          parts.each { |part| stream.write(part) }
          end_of(stream)
        end
      end

      def joined(parts)
        parts.join
      rescue Encoding::CompatibilityError # text and binary data
        parts.map(&:b).join
      end

      def respond(content, length = nil)
        sent = @request.respond(@status, HeaderSet.from_rack(@headers, length), content)
        @error ||= gone unless sent
      end

      # Sends a file by its path, unless it must be read through the body.
      def send_file(path)
        return send_each if @request.rack_finishers.any? && @body.respond_to?(:each) && @request.request_method != "HEAD"

        sent = @request.respond_with_file(@status, HeaderSet.from_rack(@headers, nil), path)
        @error ||= gone unless sent
      end

      # Sends the parts that the body yields. The head is sent with the first one, so a body that fails at once gets 500.
      def send_each(body = @body, length = announced_length)
        stream = nil
        body.each do |piece|
          stream ||= start(length)
          stream.write(piece.to_s)
        end
        stream ? end_of(stream) : respond("")
      end

      # Sends the content of a body that the app has framed. A content-length beside that framing is ignored (RFC 9112 6.3).
      def send_chunked
        @request.request_method == "HEAD" ? respond("") : send_each(ChunkedBody.new(@body), nil)
      end

      # Lets the body write. It may continue in another fiber after `call` has returned: the response ends when it closes the stream.
      def send_stream
        raise InvalidRackResponse, "A body responds to each or call; #{@body.class} does not." unless @body.respond_to?(:call)

        stream = Stream.new(start(announced_length), @request.env["rack.input"])
        @body.call(stream)
        stream.wait_for_end or @error = gone
      end

      # Sends the head and hands the connection to the app.
      def take_over(callback)
        head = @request.rack_head(@status, @headers)
        @taken = TakeOver.call(@request)
        @taken.write(head)
        callback.call(@taken)
      end

      def start(length)
        raise gone unless @request.awaits_response?

        @stream = @request.start(@status, HeaderSet.from_rack(@headers, length))
        @request.note_begin
        @stream = MeasuredStream.new(@stream, @request, length) if length
        @stream
      end

      # Makes sure that no client takes a part for the whole.
      def break_off
        @stream&.break_off
        @taken&.close
      end

      def end_of(stream)
        stream.finish or @error = gone
      end

      def gone = ClientGone.new("The client closed the connection before the response was complete.")

      # The path of the body, if the whole file is to be sent. That of Rails may be a Pathname.
      def path_of_file
        given = @body.to_path if @status != PARTIAL_CONTENT && @body.respond_to?(:to_path)
        path = File.path(given) if given
        bytes = path && File.file?(path) && File.size?(path) or return # a file of /proc has no size: `each` reads it

        path if (announced_length.nil? || announced_length == bytes) && !begun?
      end

      # A File that the app has read from, whose rest is to be sent.
      def begun? = @body.is_a?(File) && !@body.closed? && @body.pos.positive?

      # The parts of a body that has all of them. Rails promises them for each body, and calls `each` without a block where there are none: that of a
      # file raises, others return an Enumerator.
      def parts_of_body
        parts = @body.to_ary if @body.respond_to?(:to_ary)
        parts if parts.is_a?(Array)
      rescue LocalJumpError
        nil
      end

      # @return [Integer, nil] also nil for an empty body: under HEAD it does not tell the length for GET
      def length_of_parts = parts_of_body&.sum { |part| part.to_s.bytesize }&.nonzero?

      # Whether the app has framed the body itself.
      def chunked?
        @body.respond_to?(:each) && @headers.any? { |name, value| name.casecmp?("transfer-encoding") && value.to_s.match?(/\bchunked\b/i) }
      end

      # The length of the body according to the app.
      #
      # @return [Integer, nil]
      def announced_length
        _, length = @headers.find { |name, _| name.casecmp?("content-length") }
        length = length.first if length.is_a?(Array)
        Integer(length, 10) if length.to_s.match?(/\A\d+\z/)
      end
    end
  end
end

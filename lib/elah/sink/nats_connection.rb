# frozen_string_literal: true

require "socket"
require "securerandom"
require "uri"

module Elah
  class Sink
    # A connection to a NATS server that asks many things at once and reads the answers. It connects when it is used, and again after
    # any failure. https://docs.nats.io/reference/reference-protocols/nats-protocol has the protocol.
    class NATSConnection
      PORT = 4222
      CONNECT_SECONDS = 5
      # What may be on its way at once, so that neither side waits for the other to read.
      ASKED_AT_ONCE = 256
      LINE_BYTES_MAX = 65_536
      NO_RESPONDERS = /\ANATS\/1\.0 503/.freeze
      private_constant :PORT, :CONNECT_SECONDS, :ASKED_AT_ONCE, :LINE_BYTES_MAX, :NO_RESPONDERS

      # @param url [String]
      # @raise [Elah::OptionError]
      def initialize(url)
        @url = URI.parse(url)
        raise OptionError, "A NATS server is nats://HOST:PORT, not #{url.inspect}." unless @url.scheme == "nats" && @url.host

        @socket = nil
      rescue URI::InvalidURIError
        raise OptionError, "A NATS server is nats://HOST:PORT, and this is no URL."
      end

      # @return [Integer] bytes of a message that the server takes, header included
      def payload_bytes_max
        connect
        @payload_bytes_max
      end

      # Publishes messages, each with an inbox of its own to answer to, and waits for all answers.
      #
      # @param messages [Array<Array(String, Hash{String=>String}, String)>] subject, headers, payload
      # @return [Array<String, nil>] the answers in order; nil where nobody listens to the subject
      # @raise [Elah::Unavailable]
      def request(messages)
        connect
        messages.each_slice(ASKED_AT_ONCE).flat_map { |some| ask(some) }
      rescue SystemCallError, IOError, SocketError => e
        close
        raise Unavailable, "NATS at #{@url.host} does not answer: #{e.message}."
      rescue Exception
        # Whatever ended the wait, answers may come still: this connection is no use any more.
        close
        raise
      end

      # @return [void]
      def close
        @socket&.close
        @socket = nil
      end

      private

      def connect
        return if @socket

        @socket = TCPSocket.new(@url.host, @url.port || PORT, connect_timeout: CONNECT_SECONDS)
        info = JSON.parse(line[/\AINFO (.*)/, 1] || raise(IOError, "it does not speak NATS"))
        raise IOError, "it wants TLS" if info["tls_required"]

        @payload_bytes_max = info["max_payload"]
        @inbox = "_INBOX.#{SecureRandom.alphanumeric(22)}"
        @asked = 0
        sign_in
      rescue SystemCallError, IOError, SocketError, JSON::ParseError => e
        close
        raise Unavailable, "NATS at #{@url.host} cannot be reached: #{e.message}."
      end

      def sign_in
        options = { verbose: false, pedantic: false, headers: true, no_responders: true, lang: "ruby", version: VERSION, name: "elah" }
        options.update(user: URI.decode_www_form_component(@url.user), pass: URI.decode_www_form_component(@url.password.to_s)) if @url.user
        @socket.write("CONNECT #{JSON.generate(options)}\r\nSUB #{@inbox}.* 1\r\nPING\r\n")
        nil until (words = line) == "PONG" || fail_on_error(words)
      end

      def ask(messages)
        first = @asked
        @asked += messages.size
        @socket.write(messages.each_with_index.map { |message, index| publication(first + index, *message) }.join)
        answers = {}
        read_answer(answers) while answers.size < messages.size
        answers.values_at(*first...@asked)
      end

      def publication(number, subject, headers, payload)
        head = "NATS/1.0\r\n#{headers.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n"
        "HPUB #{subject} #{@inbox}.#{number} #{head.bytesize} #{head.bytesize + payload.bytesize}\r\n#{head}".b << payload.b << "\r\n"
      end

      # Reads what the server says next; an answer is put under its number.
      def read_answer(answers)
        words = line
        case words
        when "PING" then @socket.write("PONG\r\n")
        when /\AMSG #{@inbox}\.(\d+) 1 +(\d+)\z/ then answers[$1.to_i] = body($2.to_i)
        when /\AHMSG #{@inbox}\.(\d+) 1 +(\d+) (\d+)\z/
          number, head_bytes, bytes = $~.captures.map(&:to_i)
          message = body(bytes)
          answers[number] = NO_RESPONDERS.match?(message) ? nil : message.byteslice(head_bytes..)
        when /\A(INFO|PONG|\+OK)/ then nil # news of a cluster, and answers that nobody waits for
        else
          fail_on_error(words)
          raise IOError, "it said #{words[0, 60].inspect}"
        end
      end

      def body(bytes)
        text = @socket.read(bytes + 2)
        raise EOFError, "it closed the connection" unless text&.bytesize == bytes + 2

        text.byteslice(0, bytes).force_encoding(Encoding::UTF_8)
      end

      def line
        text = @socket.gets("\r\n", LINE_BYTES_MAX) or raise EOFError, "it closed the connection"
        text.chomp("\r\n")
      end

      def fail_on_error(words)
        raise IOError, words[6..] if words.start_with?("-ERR")
      end
    end
  end
end

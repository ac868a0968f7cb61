# frozen_string_literal: true

require "io/wait"
require "openssl"
require "socket"
require "securerandom"
require "uri"

module Elah
  class Sink
    # A connection to a NATS server that sends many messages at once and reads the replies. It connects at its first use, and again after a failure.
    # Whoever reads next gets the next reply, so call all other methods within {#alone}.
    # See https://docs.nats.io/reference/reference-protocols/nats-protocol.
    class NATSConnection
      PORT = 4222
      CONNECT_SECONDS = 5
      # Messages in flight, limited so that neither side waits for the other to read.
      ASKED_AT_ONCE = 256
      LINE_BYTES_MAX = 65_536
      # Twice the largest message that a server can be set to accept.
      REPLY_BYTES_MAX = 128 * 1024**2
      # Lines without an awaited reply, limited because nothing else runs while a server sends without pause.
      OTHER_LINES_MAX = 1000
      NO_REPLIES = "it sends no replies"
      SCHEMES = %w[nats tls].freeze
      FAILURES = [SystemCallError, IOError, SocketError, OpenSSL::SSL::SSLError, JSON::ParseError].freeze
      NO_RESPONDERS = "NATS/1.0 503"
      private_constant :PORT, :CONNECT_SECONDS, :ASKED_AT_ONCE, :LINE_BYTES_MAX, :REPLY_BYTES_MAX, :SCHEMES, :FAILURES, :NO_RESPONDERS,
                       :OTHER_LINES_MAX, :NO_REPLIES

      # @param urls [String, Array<String>] of the servers, a String with commas in between; `tls://` in place of `nats://` for TLS
      # @param ca_file [String, nil] PEM file of the authorities to trust in place of the system's
      # @raise [Elah::OptionError]
      def initialize(urls, ca_file: nil)
        urls = urls.split(",") if urls.is_a?(String)
        @urls = urls.map { |url| parse(url) }
        raise OptionError, "Pass the URL of a NATS server, such as nats://HOST:PORT." if @urls.empty?
        raise OptionError, "ca_file: the file #{ca_file} does not exist." if ca_file && !File.file?(ca_file)

        @ca_file = ca_file
        begin_anew
      end

      # @return [String] without the URLs, which have passwords
      def inspect = "#<#{self.class}>"

      # Calls the block while no other fiber or thread is in one.
      #
      # @return [Object] the block's value
      def alone(&block)
        begin_anew unless @process_id == Process.pid
        @lock.synchronize(&block)
      end

      # @return [Integer] bytes of a message that the server accepts, header included
      def payload_bytes_max
        connect
        @payload_bytes_max
      end

      # Publishes messages, each with its own inbox for the reply, and waits for all replies.
      #
      # @param messages [Array<Array(String, Hash{String=>String}, String)>] subject, headers, payload
      # @return [Array<String, nil>] the replies in order; nil where the subject has no subscriber
      # @raise [Elah::Unavailable]
      def request(messages)
        connect
        messages.each_slice(ASKED_AT_ONCE).flat_map { |some| ask(some) }
      rescue *FAILURES => e
        close
        raise Unavailable, "NATS at #{@url.host} does not respond: #{e.message}."
      rescue Exception
        # Late replies may still arrive, whatever ended the wait. So this connection is not used again.
        close
        raise
      end

      # @return [void]
      def close
        @socket&.close
        @socket = nil
      end

      private

      # A fork leaves the connection to its parent, without a word to the server. A fiber of the parent that holds the lock never runs in the fork.
      def begin_anew
        inherited = @socket
        @socket = nil
        @lock = Mutex.new
        @process_id = Process.pid
        inherited&.to_io&.close
      end

      def parse(url)
        parsed = URI.parse(url.strip)
        return parsed if SCHEMES.include?(parsed.scheme) && !parsed.host.to_s.empty?

        raise OptionError, "The URL of a NATS server must be nats://HOST:PORT or tls://HOST:PORT: another scheme was given, or no host."
      rescue URI::InvalidURIError
        raise OptionError, "The URL of a NATS server must be nats://HOST:PORT or tls://HOST:PORT: a text that is not a URL was given."
      end

      # To the first server that lets it in. That of the last time comes last: it has just failed.
      def connect
        close if @socket && stale?
        return if @socket

        failures = @urls.size.times.map do
          @urls.rotate!
          @url = @urls.last
          break connect_to_one
        rescue *FAILURES => e
          close
          "#{@url.host}: #{e.message}"
        end
        raise Unavailable, "NATS cannot be reached at #{failures.join('; at ')}." if failures.is_a?(Array)
      rescue Exception
        # Whatever ended the wait, a deadline too: a connection that is made by half is none.
        close
        raise
      end

      # Whether the server has sent something since the last batch: its PING, which nobody has answered, or its end.
      def stale? = @socket.to_io.wait_readable(0)

      def connect_to_one
        @socket = TCPSocket.new(@url.hostname, @url.port || PORT, connect_timeout: CONNECT_SECONDS)
        info = JSON.parse(line[/\AINFO (.*)/, 1] || raise(IOError, "it does not speak NATS"))
        @payload_bytes_max = info.is_a?(Hash) ? info["max_payload"] : nil
        raise IOError, "it names no max_payload" unless @payload_bytes_max.is_a?(Integer) && @payload_bytes_max.positive?

        secure(info) if @url.scheme == "tls" || info["tls_required"]
        @inbox = "_INBOX.#{SecureRandom.alphanumeric(22)}"
        @asked = 0
        sign_in
      end

      # TLS begins after the server's first line. A server without it gets no password.
      def secure(info)
        raise IOError, "it has no TLS" unless info["tls_required"] || info["tls_available"]

        context = OpenSSL::SSL::SSLContext.new
        context.set_params(verify_hostname: false, **(@ca_file ? { ca_file: @ca_file } : {}))
        @socket = OpenSSL::SSL::SSLSocket.new(@socket, context).tap { |socket| socket.sync_close = true }
        @socket.hostname = @url.host unless @url.host.match?(/\A[\d.:\[\]]+\z/)
        @socket.connect
        # This knows addresses as well as names.
        @socket.post_connection_check(@url.hostname)
      rescue OpenSSL::SSL::SSLError => e
        raise IOError, "TLS failed: #{e.message}"
      end

      def sign_in
        options = { verbose: false, pedantic: false, headers: true, no_responders: true, lang: "ruby", version: VERSION, name: "elah" }
        options.update(user: unescape(@url.user), pass: unescape(@url.password.to_s)) if @url.user
        @socket.write("CONNECT #{JSON.generate(options)}\r\nSUB #{@inbox}.* 1\r\nPING\r\n")
        OTHER_LINES_MAX.times { (words = line) == "PONG" ? return : fail_on_error(words) }
        raise IOError, NO_REPLIES
      end

      # Only in forms a plus is a space.
      def unescape(text) = URI.decode_www_form_component(text.gsub("+", "%2B"))

      def ask(messages)
        first = @asked
        @asked += messages.size
        @socket.write(messages.each_with_index.map { |message, index| publication(first + index, *message) }.join)
        replies = {}
        others = 0
        while replies.size < messages.size
          number, reply = read_reply
          # A second reply to a message, or to one of before, is nobody's.
          is_awaited = (first...@asked).cover?(number) && !replies.key?(number)
          replies[number] = reply if is_awaited
          others = is_awaited ? 0 : others + 1
          raise IOError, NO_REPLIES if others > OTHER_LINES_MAX
        end
        replies.values_at(*first...@asked)
      end

      def publication(number, subject, headers, payload)
        head = "NATS/1.0\r\n#{headers.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n"
        "HPUB #{subject} #{@inbox}.#{number} #{head.bytesize} #{head.bytesize + payload.bytesize}\r\n#{head}".b << payload.b << "\r\n"
      end

      # @return [Array(Integer, String), nil] number and text of the reply that the server sends next; nil for another message
      def read_reply
        words = line
        case words
        when "PING" then pong
        when /\AMSG #{@inbox}\.(\d+) 1 +(\d+)\z/ then [$1.to_i, body($2.to_i)]
        when /\AHMSG #{@inbox}\.(\d+) 1 +(\d+) (\d+)\z/
          number, head_bytes, bytes = $~.captures.map(&:to_i)
          message = body(bytes)
          [number, (message.byteslice(head_bytes..) unless message.start_with?(NO_RESPONDERS))]
        when /\A(INFO|PONG|\+OK)/ then nil # news of a cluster, and late replies
        else
          fail_on_error(words)
          raise IOError, "it sent #{words[0, 60].inspect}"
        end
      end

      def pong
        @socket.write("PONG\r\n")
        nil
      end

      def body(bytes)
        raise IOError, "it announced a reply of #{bytes} bytes" if bytes > REPLY_BYTES_MAX

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

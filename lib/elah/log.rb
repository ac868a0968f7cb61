# frozen_string_literal: true

module Elah
  # The log of a worker: a line per event on one stream, with the time, the level and a sentence. Text from elsewhere, such as the message of
  # an exception, cannot begin a line of its own or reach a terminal: control characters are escaped here.
  class Log
    LEVELS = %w[debug info warn error].freeze

    # Control characters, and the line separators of Unicode.
    CONTROL = /[[:cntrl:]\u2028\u2029]/.freeze
    ESCAPES = { "\n" => '\n', "\r" => '\r', "\t" => '\t', "\e" => '\e' }.freeze
    private_constant :CONTROL, :ESCAPES

    class << self
      # @return [Elah::Log] that of this process's server
      def current = @current ||= new

      # @param log [Elah::Log]
      attr_writer :current
    end

    # @param level [String] one of {LEVELS}; lines below it are not written
    # @param out [IO]
    def initialize(level: "info", out: $stderr)
      @threshold = LEVELS.index(level) or raise ArgumentError, "The level #{level.inspect} is none of #{LEVELS.join(', ')}."
      @out = out
    end

    # @!method debug(message, details = nil)
    #   Writes a line, and below it the details.
    #   @param message [String]
    #   @param details [Array<String>, nil] lines that belong to it, such as a backtrace
    # @!method info(message, details = nil)
    #   @see #debug
    # @!method warn(message, details = nil)
    #   @see #debug
    # @!method error(message, details = nil)
    #   @see #debug
    LEVELS.each_with_index do |level, rank|
      define_method(level) { |message, details = nil| write(level, message, details) if rank >= @threshold }
      define_method(:"#{level}?") { rank >= @threshold }
    end

    # Writes an exception with its backtrace.
    #
    # @param exception [Exception]
    # @param context [String] what was going on, as the beginning of the line
    def exception(exception, context) = error(line_of(exception, context), exception.backtrace)

    # Writes an exception that says enough without its backtrace.
    #
    # @param exception [Exception]
    # @param context [String] as of {#exception}
    def failure(exception, context) = warn(line_of(exception, context))

    private

    def line_of(exception, context) = "#{text(context)}: #{exception.class}: #{text(exception.message)}"

    def write(level, message, details)
      line = "#{Time.now.utc.strftime('%Y-%m-%dT%H:%M:%S.%LZ')} #{level.upcase.ljust(5)} [#{Process.pid}] #{printable(message)}\n"
      details&.each { |detail| line << "    #{printable(detail)}\n" }
      @out.write(line)
    end

    def printable(message)
      message = text(message)
      message.match?(CONTROL) ? message.gsub(CONTROL) { |character| ESCAPES[character] || format('\u%04X', character.ord) } : message
    end

    # Bytes that are not UTF-8 are shown as such.
    def text(message)
      message = message.to_s
      message = message.encode(Encoding::UTF_8, undef: :replace, invalid: :replace) unless utf8_bytes?(message)
      message = message.dup.force_encoding(Encoding::UTF_8)
      message.valid_encoding? ? message : message.scrub { |bytes| bytes.unpack("C*").map { |byte| format('\x%02X', byte) }.join }
    end

    def utf8_bytes?(message) = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].include?(message.encoding)
  end
end

# frozen_string_literal: true

require_relative "../codecs/text"

module Elah
  # The log of a worker: one line per event, with time, level and a sentence. Escapes control characters, so text from outside, such as an
  # exception's message, can neither forge a line nor control a terminal.
  class Log
    LEVELS = %w[debug info warn error].freeze

    class << self
      # @return [Elah::Log] the log of this process's server
      def current = @current ||= new

      # @param log [Elah::Log]
      # @api private
      attr_writer :current
    end

    # @param level [String] one of {LEVELS}; lines below it are not written
    # @param out [#write]
    def initialize(level: "info", out: $stderr)
      @threshold = LEVELS.index(level) or raise ArgumentError, "Unknown level #{level.inspect}: use one of #{LEVELS.join(', ')}."
      @out = out
      @lost = 0
    end

    # @!method debug(message, details = nil)
    #   Writes a line, then the details.
    #   @param message [String]
    #   @param details [Array<String>, nil] lines that belong to it, such as a backtrace
    #   @return [void]
    # @!method info(message, details = nil)
    #   (see Elah::Log#debug)
    # @!method warn(message, details = nil)
    #   (see Elah::Log#debug)
    # @!method error(message, details = nil)
    #   (see Elah::Log#debug)
    # @!method debug?
    #   @return [Boolean] whether such lines are written
    # @!method info?
    #   @return [Boolean] whether such lines are written
    # @!method warn?
    #   @return [Boolean] whether such lines are written
    # @!method error?
    #   @return [Boolean] whether such lines are written
    LEVELS.each_with_index do |level, rank|
      define_method(level) { |message, details = nil| write(level, message, details) if rank >= @threshold }
      define_method(:"#{level}?") { rank >= @threshold }
    end

    # Writes an exception with its backtrace.
    #
    # @param exception [Exception]
    # @param context [String] the beginning of the line
    def exception(exception, context) = error(line_of(exception, context), exception.backtrace)

    # Writes an exception without its backtrace.
    #
    # @param exception [Exception]
    # @param context [String] as in {#exception}
    def failure(exception, context) = warn(line_of(exception, context))

    private

    # Converted one by one, because they may have different encodings.
    def line_of(exception, context) = "#{Text.utf8(context)}: #{Text.of_exception(exception)}"

    def write(level, message, details)
      line = "#{stamp(level)} #{Text.printable(message)}\n"
      details&.each { |detail| line << "    #{Text.printable(detail)}\n" }
      put(line)
    end

    # A full disk or a closed pipe loses log lines, not requests. The next written line has the number of lost ones.
    def put(line)
      line = "#{stamp('warn')} #{@lost} messages could not be written here: #{@cause}\n#{line}" if @lost.positive?
      @out.write(line)
      @lost = 0
    rescue SystemCallError, IOError => e
      @lost += 1
      @cause = Text.utf8(e.message)
    end

    def stamp(level) = "#{Time.now.utc.strftime('%Y-%m-%dT%H:%M:%S.%LZ')} #{level.upcase.ljust(5)} [#{Process.pid}]"
  end
end

# frozen_string_literal: true

require_relative "text"

module Elah
  # The log of a worker: a line per event on one stream, with the time, the level and a sentence. Text from elsewhere, such as the message of
  # an exception, cannot begin a line of its own or reach a terminal: control characters are escaped here.
  class Log
    LEVELS = %w[debug info warn error].freeze

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
      @lost = 0
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

    # Converted one by one, since they may have different encodings.
    def line_of(exception, context) = "#{Text.utf8(context)}: #{Text.of_exception(exception)}"

    def write(level, message, details)
      line = "#{stamp(level)} #{Text.printable(message)}\n"
      details&.each { |detail| line << "    #{Text.printable(detail)}\n" }
      put(line)
    end

    # A full disk, or a reader that has gone, costs lines and no requests. The next line that is written says how many.
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

# frozen_string_literal: true

require_relative "text"

module Elah
  # The log of a worker: a line per event on one stream, with the time, the level and a sentence.
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
    end

    LEVELS.each_with_index do |level, rank|
      define_method(level) { |message| write(level, message) if rank >= @threshold }
      define_method(:"#{level}?") { rank >= @threshold }
    end

    # Writes an exception with its backtrace.
    #
    # @param exception [Exception]
    # @param context [String] what was going on, as the beginning of the line
    def exception(exception, context)
      backtrace = (exception.backtrace || []).map { |line| "\n    #{line}" }.join
      error("#{context}: #{Text.of_exception(exception)}#{backtrace}")
    end

    private

    def write(level, message)
      @out.write("#{Time.now.utc.strftime('%Y-%m-%dT%H:%M:%S.%LZ')} #{level.upcase.ljust(5)} [#{Process.pid}] #{Text.utf8(message)}\n")
    end
  end
end

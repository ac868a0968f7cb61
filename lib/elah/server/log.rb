# frozen_string_literal: true

require_relative "../codecs/text"
require_relative "../native"

module Elah
  # The log of a worker: one line per event, with time, level and a sentence. Escapes control characters, so text from outside, such as an
  # exception's message, can neither forge a line nor control a terminal.
  class Log
    LEVELS = %w[debug info warn error].freeze
    # What a pipe takes at once when it is writable, and how long its reader may stand still before lines are lost.
    PIPE_BYTES = 4096
    STALL_SECONDS = 1
    # A line so short, in a pipe with so much room, fits even if each of 60 workers writes one at the same moment.
    SHORT_BYTES = 512
    AMPLE_BYTES = 32_768
    # What is written of an exception: the backtrace of a SystemStackError has 10,000 lines.
    BACKTRACE_LINES_MAX = 500
    CAUSES_MAX = 5
    private_constant :PIPE_BYTES, :STALL_SECONDS, :SHORT_BYTES, :AMPLE_BYTES, :BACKTRACE_LINES_MAX, :CAUSES_MAX

    # The bytes of a message, or of one of its details, that are written: that of an exception may have a whole request body.
    TEXT_BYTES_MAX = 10_000
    private_constant :TEXT_BYTES_MAX

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
      @is_cut = false
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

    # Writes an exception with its backtrace, and its causes.
    #
    # @param exception [Exception]
    # @param context [String] the beginning of the line
    def exception(exception, context) = error(line_of(exception, context), [*backtrace(exception), *causes(exception)])

    # Writes an exception without its backtrace.
    #
    # @param exception [Exception]
    # @param context [String] as in {#exception}
    def failure(exception, context) = warn(line_of(exception, context))

    private

    def backtrace(exception)
      lines = exception.backtrace.to_a
      lines.size <= BACKTRACE_LINES_MAX ? lines : [*lines.first(BACKTRACE_LINES_MAX), "... (#{lines.size} lines)"]
    end

    # Each with the line that has raised it. A hook or an `ensure` block that fails replaces the exception that matters.
    def causes(exception)
      chain = []
      chain << exception while (exception = exception.cause) && chain.size < CAUSES_MAX
      chain.map { |cause| "caused by #{Text.of_exception(cause)} (#{Text.utf8(cause.backtrace.to_a.first.to_s)})" }
    end

    # Converted one by one, because they may have different encodings.
    def line_of(exception, context) = "#{Text.utf8(context)}: #{Text.of_exception(exception)}"

    def write(level, message, details)
      line = "#{stamp(level)} #{printable(message)}\n"
      details&.each { |detail| line << "    #{printable(detail)}\n" }
      put(line)
    end

    def printable(message)
      text = Text.utf8(message)
      return Text.printable(text) if text.bytesize <= TEXT_BYTES_MAX

      "#{Text.printable(text.byteslice(0, TEXT_BYTES_MAX).scrub(''))}… (#{text.bytesize} bytes)"
    end

    # A full disk, a closed pipe or a reader that stands still loses log lines, not requests. The next written line has the number of lost ones.
    def put(line)
      told = @lost
      line = "#{"\n" if @is_cut}#{stamp('warn')} #{told} messages could not be written here: #{@cause}\n#{line}" if told.positive?
      stat = @out.stat if @out.is_a?(IO)
      if stat.nil? || stat.file? || (stat.pipe? && line.bytesize <= SHORT_BYTES && PipeRoom.bytes(@out.fileno) >= AMPLE_BYTES)
        @out.write(line)
      else
        put_where_room(line, stat.pipe? ? PIPE_BYTES : line.bytesize)
      end
      @lost = [@lost - told, 0].max # others may have lost some while this one waited
      @is_cut = false
    rescue SystemCallError, IOError => e
      @is_cut ||= stat&.file? # a disk that is full may have taken a part
      @lost += 1
      @cause = Text.utf8(e.message)
    end

    # @param bytes [Integer] that a write which may wait takes at once
    def put_where_room(line, bytes)
      unblocked = open_again
      until line.empty?
        raise IOError, "its reader does not read" unless room?

        written = unblocked ? unblocked.write_nonblock(line, exception: false) : @out.write(line.byteslice(0, bytes))
        next if written == :wait_writable # another process took the room

        line = line.byteslice(written..)
        @is_cut = !line.empty?
      end
    ensure
      unblocked&.close
    end

    # The same pipe or terminal with flags of its own: those of the log are shared with other processes. Linux refuses it for sockets, and
    # for what belongs to another user.
    def open_again
      File.open("/proc/self/fd/#{@out.fileno}", File::WRONLY | File::NONBLOCK | File::NOCTTY)
    rescue SystemCallError
      nil
    end

    # Waits in the thread itself: the line of a fiber is not one of its waits.
    def room? = PipeRoom.wait(@out.fileno, @lost.zero? ? STALL_SECONDS : 0)

    def stamp(level) = "#{Time.now.utc.strftime('%Y-%m-%dT%H:%M:%S.%LZ')} #{level.upcase.ljust(5)} [#{Process.pid}]"
  end
end

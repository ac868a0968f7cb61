# frozen_string_literal: true

module Lab
  # Says what is done now: one line that is written over on a terminal, a line per run elsewhere.
  class Progress
    WIDTH = 110

    # @param total_seconds [Numeric] what all runs should take
    def initialize(total_seconds, out: $stderr)
      @left_seconds = total_seconds
      @out = out
    end

    # @param text [String] that stays
    def say(text)
      @out.print("\r", " " * WIDTH, "\r") if @out.tty?
      @out.puts(text)
    end

    # @param text [String] the run that begins
    # @param seconds [Numeric] what it should take
    def begin_run(text, seconds)
      left = format("%<minutes>d:%<seconds>02d left", minutes: @left_seconds / 60, seconds: @left_seconds % 60)
      @left_seconds = [@left_seconds - seconds, 0].max
      @out.tty? ? @out.print("\r", "#{text} · about #{left}".ljust(WIDTH)[0, WIDTH]) : @out.puts("#{text} · about #{left}")
    end

    # Takes the line away.
    def finish = (@out.print("\r", " " * WIDTH, "\r") if @out.tty?)
  end
end

# frozen_string_literal: true

module Items
  # A progress bar on a terminal; elsewhere a line for every tenth.
  class ProgressBar
    WIDTH = 30
    REDRAW_SECONDS = 0.1

    # @param total [Integer]
    # @param output [IO]
    # @param clock [#call] the seconds of a monotonic clock
    def initialize(total, output: $stderr, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
      @total = total
      @output = output
      @clock = clock
      @tenth = -1
    end

    # @param done [Integer]
    def show(done)
      now = @clock.call
      @start ||= [now, done]
      @output.tty? ? draw(done, now) : tell(done, now)
    end

    private

    def draw(done, now)
      return if @drawn_at && now - @drawn_at < REDRAW_SECONDS && done < @total

      @drawn_at = now
      full = WIDTH * done / [@total, 1].max
      @output.print("\r[#{'#' * full}#{' ' * (WIDTH - full)}] #{text(done, now)}\e[K")
      @output.puts if done >= @total
    end

    def tell(done, now)
      tenth = 10 * done / [@total, 1].max
      return if tenth == @tenth

      @tenth = tenth
      @output.puts(text(done, now))
    end

    def text(done, now)
      percent = 100 * done / [@total, 1].max
      seconds = now - @start.first
      made = done - @start.last
      return format("%3d %%  %s of %s", percent, digits(done), digits(@total)) unless made.positive? && seconds.positive?

      rate = made / seconds
      format("%3d %%  %s of %s, %s/s, %d s left", percent, digits(done), digits(@total), digits(rate.round), ((@total - done) / rate).ceil)
    end

    def digits(number) = number.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
  end
end

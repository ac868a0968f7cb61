# frozen_string_literal: true

module RingPools
  # Owns the time by which holds are kept: microseconds since 1970, as the machine's clock had it when the app first ran after the
  # machine was started, and from then on counted by a clock that nobody can set. So a clock that is set while the app runs, or between two
  # runs, neither ends a hold early nor keeps one for ever; {#offset} says by how much the two differ. After the machine was started
  # anew its clock is believed again, and a pool whose last step lies ahead goes on from that step.
  #
  # All workers of the app share one beginning, which is kept in the store.
  class Clock
    BOOT_ID = "/proc/sys/kernel/random/boot_id"
    KEY = "clock"
    # Two clocks that nobody sets drift apart by less than that, in microseconds.
    SET_FROM = 1_000_000
    # A machine that believes it is earlier has no clock; keys of rows have times of 16 digits.
    EARLIEST = 1_600_000_000_000_000

    # @param service [#get, #put] a table of the store
    # @param boot [String] names this run of the machine
    def initialize(service, boot: File.read(BOOT_ID).strip)
      @difference = kept(service, boot) || keep(service, boot)
    end

    # @return [Integer] microseconds since 1970
    def now = since_boot + @difference

    # @return [Float] seconds by which the machine's clock is ahead of this one, because it was set
    def offset
      difference = wall - now
      difference.abs < SET_FROM ? 0.0 : difference / 1e6
    end

    private

    # @return [Integer] microseconds, which nobody can set
    def since_boot = Process.clock_gettime(Process::CLOCK_BOOTTIME, :microsecond)

    # @return [Integer] microseconds since 1970, which somebody can set
    def wall = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)

    def kept(service, boot)
      kept_boot, difference = service.get(KEY)&.split
      difference.to_i if kept_boot == boot
    end

    def keep(service, boot)
      difference = [wall, EARLIEST].max - since_boot
      service.put(KEY, "#{boot} #{difference}")
      difference
    end
  end
end

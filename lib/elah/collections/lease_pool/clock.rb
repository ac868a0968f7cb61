# frozen_string_literal: true

module Elah
  class LeasePool
    # Clock of the holds, in microseconds since 1970. It starts with the machine's time and then counts on its own. When somebody sets the machine's
    # clock, no hold ends early, and every hold ends; {#offset} returns the difference.
    #
    # A clock with a table keeps its start in the table. All processes of the app then have the same time, also after a restart of the app. When
    # the machine itself restarts, the clock starts with the machine's time again. With a table of a cluster the clock is that of the database, on all
    # machines.
    #
    # @example
    #   clock = Elah::LeasePool::Clock.new(Elah::Store.open("data").table("clock"))
    class Clock
      BOOT_ID = "/proc/sys/kernel/random/boot_id"
      KEY = "clock"
      # Two clocks that nobody sets differ by less than this, in microseconds.
      SET_FROM = 1_000_000
      # A machine with an earlier time has no working clock.
      EARLIEST = 1_600_000_000_000_000

      class << self
        # @return [Clock] the clock of this process, without a table
        def default = @default ||= new
      end

      # @param table [Elah::Store::Table, nil] table that keeps the start of the clock, under the key "clock"
      # @param boot [String] identifies this boot of the machine
      def initialize(table = nil, boot: File.read(BOOT_ID).strip)
        @cluster = table.store if !Store.autoload?(:Cluster) && table.is_a?(Store::Cluster::Table)
        @difference = (table && kept(table, boot)) || start(table, boot) unless @cluster
      end

      # @return [Integer] microseconds since 1970
      # @raise [Store::Error] when the cluster's database does not say
      def now = @cluster ? @cluster.now_ms * 1000 : since_boot + @difference

      # @return [Float] seconds by which the machine's clock is ahead of this one, because it was set; 0 on a cluster
      def offset
        return 0.0 if @cluster

        difference = wall - now
        difference.abs < SET_FROM ? 0.0 : difference / 1e6
      end

      private

      # @return [Integer] microseconds of a clock that nobody can set
      def since_boot = Process.clock_gettime(Process::CLOCK_BOOTTIME, :microsecond)

      # @return [Integer] microseconds since 1970 of the clock that can be set
      def wall = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)

      def kept(table, boot)
        kept_boot, difference = table.get(KEY)&.split
        difference.to_i if kept_boot == boot
      end

      def start(table, boot)
        difference = [wall, EARLIEST].max - since_boot
        table&.put(KEY, "#{boot} #{difference}")
        difference
      end
    end
  end
end

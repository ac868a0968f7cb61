# frozen_string_literal: true

require_relative "procfs"

module Bench
  # Keeps the cores that are measured from going to sleep. A virtual machine gives a core that has nothing to do back to its host, and on a busy host
  # waits to get it again: a server that answers over loopback would be measured with as much waiting as work. A process on each core that
  # does nothing at all, in the scheduling class that runs only when nothing else would (sched(7), SCHED_IDLE), prevents it. It is for a
  # server at its limit alone: a host that bounds what a machine may use pauses one whose cores are never idle, up to 0.1 s at a time here.
  class Awake
    CORES = [0, 1].freeze
    # A process has to run once more to end, and here it does so only when nothing else would.
    END_SECONDS_MAX = 30

    # @yieldparam awake [Awake] as long as the cores are kept awake; where the commands for it are missing they are not
    def self.keep
      awake = new
      yield awake
    ensure
      awake&.stop
    end

    def initialize
      @pids = []
      CORES.each { |core| @pids << spin(core) }
    rescue Errno::ENOENT
      nil # no setpriv here; without chrt or taskset the processes have ended by themselves
    end

    # @return [Array<Integer>]
    attr_reader :pids

    # @return [Float] seconds of CPU time that it took from nobody
    def cpu_seconds = @pids.sum { |pid| ProcessTree.new(pid).cpu_seconds }

    # Ends the processes.
    # @raise [RuntimeError] when one does not
    def stop
      ending = @pids.each { |pid| Process.kill("KILL", pid) }.map { |pid| Process.detach(pid) }
      @pids.clear
      stuck = ending.reject { |process| process.join(END_SECONDS_MAX) }.map(&:pid)
      raise "process #{stuck.first}, which kept a core awake, had no time to end within #{END_SECONDS_MAX} s: what keeps it busy?" if stuck.any?
    end

    private

    # It does not outlive its parent either.
    def spin(core)
      idle_class = ["chrt", "--idle", "0", "taskset", "-c", core.to_s]
      spawn("setpriv", "--pdeathsig", "KILL", *idle_class, "sh", "-c", "while :; do :; done", %i[out err] => File::NULL)
    end
  end
end

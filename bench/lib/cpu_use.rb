# frozen_string_literal: true

require_relative "awake"
require_relative "procfs"

module Bench
  # Who used the processor while a block ran, on cores that were kept awake. Shares are of one core; `foreign` is everything that is
  # neither the server nor the generator, time stolen by other guests of the machine included: it should be near 0.
  CpuUse = Struct.new(:wall_seconds, :server_seconds, :generator_seconds, :busy_seconds, :awake_seconds) do
    # @param tree [ProcessTree] the server
    # @yield runs the generator as a child process and waits for its end
    # @return [CpuUse]
    def self.of(tree)
      Awake.keep do |awake|
        before = snapshot(tree, awake)
        yield
        new(*snapshot(tree, awake).zip(before).map { |now, earlier| now - earlier })
      end
    end

    def self.snapshot(tree, awake)
      children = Process.times.then { |times| times.cutime + times.cstime }
      [Process.clock_gettime(Process::CLOCK_MONOTONIC), tree.cpu_seconds, children, cores_busy_seconds, awake.cpu_seconds]
    end
    private_class_method :snapshot

    # Seconds that all cores together have been busy since the system started.
    def self.cores_busy_seconds
      user, nice, system, _idle, _iowait, irq, softirq, steal = File.foreach("/proc/stat").first.split.drop(1).map(&:to_i)
      (user + nice + system + irq + softirq + steal) / ProcessTree::TICKS_PER_SECOND.to_f
    end
    private_class_method :cores_busy_seconds

    def server_share
      server_seconds / wall_seconds
    end

    def generator_share
      generator_seconds / wall_seconds
    end

    def foreign_share
      (busy_seconds - awake_seconds - server_seconds - generator_seconds) / wall_seconds
    end
  end
end

# frozen_string_literal: true

require "open3"
require "securerandom"

# The wall clock of a machine of a test: it jumps, and the machine's other clocks go on. The machine also has a boot of
# its own, as real ones do.
class WallClock
  SOURCE = File.expand_path("wall_clock.c", __dir__)
  BOOT_ID = "/proc/sys/kernel/random/boot_id"
  BOOT = "mount --bind \"$0\" #{BOOT_ID} && exec \"$@\""

  # @param folder [String] for its files
  # @param hours [Integer] by which it differs from the right time
  def initialize(folder, hours = 0)
    @library, @file, @boot = %w[wall_clock.so wall_clock boot_id].map { |name| File.join(folder, name) }
    output, status = Open3.capture2e("cc", "-shared", "-fPIC", "-O1", "-o", @library, SOURCE)
    status.success? or raise output
    File.write(@boot, "#{SecureRandom.uuid}\n")
    jump(hours)
  end

  # @return [Array<String>] a command that runs a server's command with this clock
  def under = ["sh", "-c", BOOT, @boot, "env", "LD_PRELOAD=#{@library}", "WALL_CLOCK=#{@file}"]

  # Sets it, also for processes that run.
  #
  # @param hours [Integer] by which it differs from the right time from now on
  def jump(hours) = File.binwrite(@file, [hours * 3600].pack("q"), 0)
end

# frozen_string_literal: true

# Owns how the tests look at the memory of a running server.
module ProcessMemory
  # @param pid [Integer]
  # @return [Integer] resident bytes of the process
  def self.resident_bytes(pid) = Integer(File.read("/proc/#{pid}/status")[/^VmRSS:\s+(\d+) kB/, 1]) * 1024
end

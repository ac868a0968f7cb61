# frozen_string_literal: true

# Calls a worker of bench/apps/peers.rb from a loop of its own, without HTTP, and prints what that took as JSON. Arguments: the paths
# of its own socket and of the other's, and the number of calls.
$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "elah"
require "elah/peer_links"
require "json"

FIBERS = 64
SECONDS = 5
own, other, calls = ARGV
calls = calls.to_i

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

# Seconds of the processor of this process, per call.
def cpu_us(calls)
  before = cpu
  yield
  (cpu - before) / calls * 1e6
end

Elah.run do
  links = Elah::PeerLinks.open(Elah.current_loop, own) { nil }
  peer = links.peer(other)
  1000.times { peer.call(["pool", 1], SECONDS) }
  times = []
  alone = cpu_us(calls) do
    calls.times do
      began_at = now
      peer.call(["pool", 1], SECONDS)
      times << (now - began_at)
    end
  end
  times.sort!
  together = cpu_us(calls) do
    Array.new(FIBERS) { Elah.async { (calls / FIBERS).times { peer.call(["pool", 1], SECONDS) } } }.each(&:wait)
  end
  puts JSON.generate(p50_us: times[calls / 2] * 1e6, p99_us: times[calls * 99 / 100] * 1e6, cpu_us_alone: alone, cpu_us_together: together)
  links.close
end

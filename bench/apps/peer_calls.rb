# frozen_string_literal: true

# Calls from one process to another over a link, without HTTP; prints what they took as JSON. Arguments: a folder for the sockets, the cores
# of caller and owner, the number of calls, and for calls over TLS the option `cluster_tls` of a node "bench".
$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "elah"
require "elah/entity/peer_links"
require "io/wait"
require "json"

FIBERS = 64
SECONDS = 5
folder, caller_core, owner_core, calls, tls = ARGV
cluster = tls ? { cluster_listen: "127.0.0.1:0", cluster_node: "bench", cluster_tls: tls } : {}
CONFIG = Elah::Config.build(**cluster)
calls = calls.to_i
own, other = %w[caller owner].map { |name| File.join(folder, "links", "#{name}.sock") }

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Microseconds of the processor of this process, per call.
def cpu_us(calls)
  before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  yield
  (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before) / calls * 1e6
end

def open(path, &handler)
  links = Elah::PeerLinks.open(Elah.current_loop, path, port: Elah::PeerLinks::Port.bind(CONFIG), &handler)
  links.identify("bench", Process.pid) if links.address
  links
end

def pin(core) = system("taskset", "-pc", core, Process.pid.to_s, out: File::NULL, exception: true)

input, output = IO.pipe
ready, say_ready = IO.pipe
owner = fork do
  output.close
  pin(owner_core)
  Elah.run do
    links = open(other) { |amount| amount + 1 }
    say_ready.print(links.address || other)
    say_ready.close
    input.wait_readable # until the caller has closed its end
    links.close
  end
end
[input, say_ready].each(&:close)
address = ready.read
pin(caller_core)
Elah.run do
  links = open(own) { nil }
  peer = links.peer(address)
  1000.times { peer.call(1, SECONDS) }
  times = []
  alone = cpu_us(calls) do
    calls.times do
      began_at = now
      peer.call(1, SECONDS)
      times << (now - began_at)
    end
  end
  together = cpu_us(calls) { Array.new(FIBERS) { Elah.async { (calls / FIBERS).times { peer.call(1, SECONDS) } } }.each(&:wait) }
  times.sort!
  puts JSON.generate(p50_us: times[calls / 2] * 1e6, p99_us: times[calls * 99 / 100] * 1e6, cpu_us_alone: alone, cpu_us_together: together)
  links.close
end
output.close
Process.wait(owner)

# frozen_string_literal: true

# The application of bench/links: a worker that counts for itself and, over a link, has another one count. The settings `own` and `other`
# are the paths of both sockets; the worker without `other` counts for the other alone.
require "elah/peer_links"

# Counts by key.
class Counts
  def initialize = @counts = Hash.new(0)

  def add(key, amount) = @counts[key] += amount
end

COUNTS = Counts.new
ROWS = 40
SECONDS = 5

# One of the calls of a gather.
Added = Struct.new(:carrier, :message) do
  def call = COUNTS.add(*message)
end

# Where the calls go.
class Peers
  class << self
    attr_reader :other

    def open
      own, other = %w[own other].map { |name| Elah.settings[name] }
      links = Elah::PeerLinks.open(Fiber.scheduler.event_loop, own) { |key, amount| COUNTS.add(key, amount) }
      @other = links.peer(other) if other
    end
  end
end

class Counting < Elah::API
  format :json

  get(:local) { { count: COUNTS.add("pool", 1) } }

  get(:remote) { { count: Peers.other.call(["pool", 1], SECONDS) } }

  get(:local_rows) { { counts: Array.new(ROWS) { |row| COUNTS.add(row, 1) } } }

  get(:remote_rows) do
    results = Elah.gather(deadline: SECONDS) { |g| ROWS.times { |row| g.call(row, Added.new(Peers.other, [row, 1])) } }
    { counts: results.values }
  end
end

run Counting

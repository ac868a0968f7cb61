# frozen_string_literal: true

require_relative "../native"

module Elah
  # Returns memory to the system while a worker is idle. After large bodies most of its memory is free: pages of Ruby's heap, which only
  # further garbage collections return, and memory that the allocators keep.
  class IdleMemory
    # How often a worker checks.
    SECONDS = 5

    # A worker with fewer requests in {SECONDS}, such as health checks, is idle: a garbage collection may block its loop.
    REQUESTS_MAX = 10

    # The minimum growth, in bytes and as a share of the lowest memory.
    GROWTH_BYTES = 12_000_000
    GROWTH_SHARE = 0.25

    # A round that returned less was fruitless. Rounds end after several in a row: Ruby 3.3 may return nothing in one and much in the next.
    WORTHWHILE_BYTES = 1_000_000
    FRUITLESS_MAX = 3

    # Checks the memory of this process until the worker exits.
    #
    # @param event_loop [Elah::EventLoop] of this thread
    def self.start(event_loop)
      memory = new
      Elah.every(SECONDS, detached: true) { memory.look(event_loop.counts[:requests]) }
    end

    def initialize
      @requests = 0
      @floor = anonymous_bytes
      @rounds_left = 0
    end

    # Returns memory if the worker is idle and has grown.
    #
    # @param requests [Integer] since the start
    def look(requests)
      is_idle = requests - @requests < REQUESTS_MAX
      @requests = requests
      held = anonymous_bytes
      @floor = [@floor, held].min
      @rounds_left = FRUITLESS_MAX if held - @floor > [GROWTH_BYTES, GROWTH_SHARE * @floor].max
      release(held) if is_idle && @rounds_left.positive?
    end

    private

    def release(held)
      GC.start
      Memory.release
      @floor = anonymous_bytes
      @rounds_left = held - @floor > WORTHWHILE_BYTES ? FRUITLESS_MAX : @rounds_left - 1
    end

    # Without mapped files, which the system reclaims itself.
    def anonymous_bytes = File.read("/proc/self/status")[/^RssAnon:\s+(\d+)/, 1].to_i * 1024
  end
end

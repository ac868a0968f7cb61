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

    # After a round that returned more, there is another one.
    WORTHWHILE_BYTES = 1_000_000

    # Checks the memory of this process until the worker exits.
    #
    # @param event_loop [Elah::EventLoop] of this thread
    def self.start(event_loop)
      memory = new(event_loop)
      Elah.watch(SECONDS) { memory.look }
    end

    # @param event_loop [Elah::EventLoop]
    def initialize(event_loop)
      @loop = event_loop
      @requests = 0
      @floor = anonymous_bytes
      @goes_on = false
    end

    # Returns memory if the worker is idle and has grown.
    def look
      requests = @loop.counts[:requests]
      is_idle = requests - @requests < REQUESTS_MAX
      @requests = requests
      held = anonymous_bytes
      @floor = [@floor, held].min
      @loop.post { release(held) } if is_idle && (@goes_on || held - @floor > [GROWTH_BYTES, GROWTH_SHARE * @floor].max)
    end

    private

    def release(held)
      @loop.end_idle_fibers
      GC.start
      Memory.release
      @floor = anonymous_bytes
      @goes_on = held - @floor > WORTHWHILE_BYTES
    end

    # Without mapped files, which the system reclaims itself.
    def anonymous_bytes = File.read("/proc/self/status")[/^RssAnon:\s+(\d+)/, 1].to_i * 1024
  end
end

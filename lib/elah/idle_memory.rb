# frozen_string_literal: true

require_relative "native"

module Elah
  # Gives memory back to the system while a worker has little to do. After large bodies most of what stays is free: whole pages of Ruby's heap,
  # which only further garbage collections return, and what the allocators keep for the next time.
  class IdleMemory
    # How often a worker looks.
    SECONDS = 5

    # Fewer requests than this in {SECONDS}, health checks for example, are little to do: a garbage collection may hold the loop.
    REQUESTS_MAX = 10

    # By how much a worker has to have grown, in bytes and as a part of what it had.
    GROWTH_BYTES = 12_000_000
    GROWTH_SHARE = 0.25

    # A round that gave back more is followed by another.
    WORTHWHILE_BYTES = 1_000_000

    # Looks after the memory of this process until the worker ends.
    #
    # @param event_loop [Elah::EventLoop] of this thread
    def self.start(event_loop)
      memory = new
      Elah.every(SECONDS, detached: true) { memory.look(event_loop.counts[:requests]) }
    end

    def initialize
      @requests = 0
      @floor = anonymous_bytes
      @goes_on = false
    end

    # Gives memory back if that is worth it now.
    #
    # @param requests [Integer] since the start
    def look(requests)
      is_idle = requests - @requests < REQUESTS_MAX
      @requests = requests
      held = anonymous_bytes
      @floor = [@floor, held].min
      release(held) if is_idle && (@goes_on || held - @floor > [GROWTH_BYTES, GROWTH_SHARE * @floor].max)
    end

    private

    def release(held)
      GC.start
      Memory.release
      @floor = anonymous_bytes
      @goes_on = held - @floor > WORTHWHILE_BYTES
    end

    # Without what is mapped from files: the system takes that back itself.
    def anonymous_bytes = File.read("/proc/self/status")[/^RssAnon:\s+(\d+)/, 1].to_i * 1024
  end
end

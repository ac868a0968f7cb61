# frozen_string_literal: true

module Elah
  # Limits how many fibers of one loop do something at once. The others wait in line, limited in number and time.
  class Semaphore
    Waiter = Struct.new(:event_loop, :task, :id, :is_granted)
    private_constant :Waiter

    # @return [Integer] free permits
    attr_reader :free

    # @param permits [Integer] maximum number of fibers inside at once
    # @param wait_seconds [Numeric, nil] maximum wait; nil waits without a limit
    # @param queue_max [Integer] maximum number of waiting fibers
    # @raise [ArgumentError] when there is no permit
    def initialize(permits, wait_seconds: nil, queue_max: 1024)
      raise ArgumentError, "A semaphore needs at least 1 permit, not #{permits}." unless permits.positive?

      @permits = @free = permits
      @wait_seconds = wait_seconds
      @queue_max = queue_max
      @waiters = []
    end

    # Runs the block as soon as a permit is free.
    #
    # @param wait_seconds [Numeric, nil] maximum wait
    # @yieldreturn [T]
    # @return [T] the block's value
    # @raise [Elah::Overloaded] when too many fibers wait already, or the wait took too long
    # @raise [Elah::OutsideLoop] when it has to wait outside a fiber of a loop
    def acquire(wait_seconds: @wait_seconds)
      enter(wait_seconds)
      begin
        yield
      ensure
        leave
      end
    end

    # @return [Integer] waiting fibers
    def waiting = @waiters.size

    private

    def enter(seconds)
      return @free -= 1 if @free.positive?
      raise Overloaded, "All #{@permits} permits are taken and #{@waiters.size} callers wait: try again later." if @waiters.size >= @queue_max

      event_loop = Elah.current_loop or raise OutsideLoop, "All #{@permits} permits are taken, and only a fiber of a loop can wait for one."
      wait_in(event_loop, seconds) or raise Overloaded, "None of #{@permits} permits became free within #{seconds} s."
    end

    def wait_in(event_loop, seconds)
      waiter = Waiter.new(event_loop, event_loop.current_task, event_loop.new_wait, false)
      @waiters << waiter
      event_loop.start_timer(waiter.id, seconds.to_f) if seconds
      waiter.task.wait = waiter.id
      event_loop.park(waiter.id)
      waiter.is_granted
    ensure
      @waiters.delete(waiter)
      event_loop.cancel_wait(waiter.id) if seconds
    end

    # The longest waiting fiber gets the permit, and no other in between.
    def leave
      return @free += 1 unless (waiter = @waiters.shift)

      waiter.is_granted = true
      waiter.task.wake(waiter.id)
      waiter.event_loop.end_wait(waiter.id)
    end
  end
end

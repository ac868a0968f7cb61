# frozen_string_literal: true

module Elah
  # A fork of Ruby 3.1 ends with a segmentation fault at one of its next garbage collections when another thread was in a fiber, as the delivery of a
  # sink is in a script: Ruby marks what was the stack of that thread, which the next thread of the fork has. So the loops of other threads wait in
  # themselves for a fork.
  #
  # It is loaded first, so that it runs last, around Ruby's own fork and the hooks of libraries that were loaded before Elah.
  # @api private
  module Parking
    # How long a fork waits for a loop whose fiber computes.
    SECONDS = 0.2
    # How long a loop waits for a fork. The hook of a library may wait for a lock that a fiber of the loop holds.
    PARKED_SECONDS = 1
    # Interval of its looks.
    PAUSE_SECONDS = 0.0005
    private_constant :SECONDS, :PARKED_SECONDS, :PAUSE_SECONDS

    # @yield while the loops of other threads wait
    # @return [Object] the block's value
    def self.during
      others = EventLoop.all.dup.select { |event_loop| event_loop.thread&.alive? && !event_loop.thread.equal?(Thread.current) }
      return yield if others.empty? || RUBY_VERSION >= "3.2"

      begin
        parked = Thread::Queue.new
        others.each { |event_loop| event_loop.post { park(parked) } }
        give_up_at = Concurrency.now + SECONDS
        Thread.pass until parked.size == others.size || Concurrency.now > give_up_at
        yield
      ensure
        parked&.close
      end
    end

    # @yield to fork
    # @return [Object] the block's value
    def self.prepared
      return yield unless defined?(EventLoop) && EventLoop.respond_to?(:all) # the native class is there before its Ruby half

      during do
        # What fibers and threads have opened until the loops waited; twice, as {Store::Fork} does.
        Store.release_all
        Store.release_all
        yield
      end
    end

    # Runs in a loop, until the queue is closed.
    def self.park(parked)
      parked << true
      give_up_at = Concurrency.now + PARKED_SECONDS
      sleep(PAUSE_SECONDS) until parked.closed? || Concurrency.now > give_up_at
    rescue ClosedQueueError
      nil # the fork is over
    end
    private_class_method :park

    # @return [Integer] as fork(2)
    def _fork
      Parking.prepared { super }
    end

    # Forks without `_fork`.
    #
    # @return [Integer] as Process.daemon
    def daemon(...)
      Parking.prepared { super }
    end

    Process.singleton_class.prepend(self)
  end
end

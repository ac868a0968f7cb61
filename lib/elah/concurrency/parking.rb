# frozen_string_literal: true

module Elah
  # A fork of Ruby 3.1 ends with a segmentation fault at one of its next garbage collections when another thread was in a fiber, as the delivery of a
  # sink is in a script: Ruby marks what was the stack of that thread, which the next thread of the fork has. So the loops of other threads wait in
  # themselves for a fork.
  #
  # It is loaded first, so that it runs last, around Ruby's own fork: nothing waits for a lock meanwhile, which a fiber of such a loop may hold.
  # @api private
  module Parking
    # How long a fork waits for a loop whose fiber computes.
    SECONDS = 0.2
    private_constant :SECONDS

    # @yield while the loops of other threads wait
    # @return [Object] the block's value
    def self.during
      others = EventLoop.all.dup.select { |event_loop| event_loop.thread&.alive? && !event_loop.thread.equal?(Thread.current) }
      return yield if others.empty?

      begin
        parked = Thread::Queue.new
        gates = others.map { |event_loop| Thread::Queue.new.tap { |gate| event_loop.post { (parked << true) && gate.pop } } }
        give_up_at = Concurrency.now + SECONDS
        Thread.pass until parked.size == others.size || Concurrency.now > give_up_at
        yield
      ensure
        gates&.each(&:close)
      end
    end

    # @return [Integer] as fork(2)
    def _fork
      return super unless defined?(EventLoop) && EventLoop.respond_to?(:all) # the native class is there before its Ruby half

      Parking.during do
        # What fibers and threads have opened until the loops waited; twice, as {Store::Fork} does.
        Store.release_all
        Store.release_all
        super
      end
    end

    Process.singleton_class.prepend(self)
  end
end

# frozen_string_literal: true

module Elah
  # A fiber that `Elah.async` started. Wait for its end or its value, or cancel it. It belongs to the loop in which it runs.
  class Async
    # Time between two cancellations of a fiber that does not end. Its `ensure` blocks may wait for as long.
    AGAIN_SECONDS = 5
    # Time until a failure is reported that nobody has asked for.
    NOTICE_SECONDS = 10
    private_constant :NOTICE_SECONDS

    # @return [Exception, nil] exception of {cancel}; nil when it was not called, or too late
    # @api private
    attr_reader :cancellation

    # @return [Elah::Task, nil] its own; nil when it has ended
    # @api private
    attr_reader :task

    # @return [Integer, nil] its place among the fibers that its parent has started
    # @api private
    attr_accessor :number

    # Starts the block: it runs at once, until its first wait.
    #
    # @param event_loop [Elah::EventLoop]
    # @param parent [Elah::Task, nil] the task with which it ends; nil for an independent fiber
    # @param task [Elah::Task]
    # @param finished [#call, nil] called in the loop when the fiber has ended
    # @raise [Elah::Overloaded] as of {EventLoop#spawn}
    # @api private
    def initialize(event_loop, parent:, task: Task.new, finished: nil, &block)
      @loop = event_loop
      @parent = parent
      @task = task
      @finished = finished
      @waiters = []
      if parent
        parent.adopt(self)
        task.inherit(parent)
      end
      event_loop.spawn(task) { run(&block) }
    rescue Overloaded
      parent&.release(self)
      raise
    end

    # Waits until the block has ended.
    #
    # @return [Object] the block's value
    # @raise [Exception] what the block raised
    # @raise [Elah::Cancelled] when it was cancelled
    def value
      wait
      raise @failure if error

      @value
    end

    # Waits until the block has ended, with a value or an exception.
    #
    # @param seconds [Numeric, nil] maximum wait
    # @return [Async, nil] itself; nil after a timeout
    # @raise [Elah::OutsideLoop] in another loop, or outside any
    def wait(seconds = nil)
      return self if done?

      Elah.current_loop.equal?(@loop) or raise OutsideLoop, "Only a fiber of the same loop can wait for this one."
      @waiters << id = @loop.new_wait
      @loop.start_timer(id, seconds.to_f) if seconds
      @loop.park(id)
      self if done?
    ensure
      @waiters.delete(id)
      @loop.cancel_wait(id) if id && seconds
    end

    # Raises Elah::Cancelled in the block, at its wait. Returns at once; {wait} waits until its `ensure` blocks have run. Any thread may call it.
    #
    # @param exception [Exception] exception to raise instead
    # @return [Async] itself
    def cancel(exception = Cancelled.new("The fiber was cancelled."))
      Thread.current.equal?(@loop.thread) ? cancel_here(exception) : @loop.post { cancel_here(exception) }
      self
    end

    # A failure is not reported: who started the fiber asks for it.
    #
    # @return [Async] itself
    # @api private
    def noticed
      @noticed = true
      self
    end

    # @return [String] without the loop, which has all requests
    def inspect = "#<#{self.class}>"

    # @return [Boolean] whether the block has ended
    def done? = @done || false

    # @return [Exception, nil] the exception that ended the block
    def error
      @noticed = true
      @parent&.release(self) if done?
      @failure
    end

    # Called by the loop when the parent has ended. A fiber that rescues its cancellation and continues is cancelled again and again.
    #
    # @param may_go_on [Boolean]
    # @api private
    def parent_ended(may_go_on)
      @parent = nil
      return report if done?

      @task.parent = nil # it may be that of another request by the time this fiber ends
      return if may_go_on || @task.ending || @loop.fork?

      ended = Cancelled.new("What started this fiber has ended.")
      cancel(ended)
      cancel_again_later(ended)
    end

    private

    def cancel_here(exception)
      return if done? || @cancellation

      @cancellation = exception
      @task.overdue
      @loop.cancel(@task, exception)
    end

    def run
      @value = yield
    rescue EventLoop::Fatal => e
      @failure = e
      raise
    rescue Exception => e # -- `value` raises it
      @loop.end_fork(e)
      @failure = e
    ensure
      @done = true
      finish
    end

    def cancel_again_later(exception)
      @again = @loop.after(AGAIN_SECONDS) do
        @loop.cancel(@task, exception)
        cancel_again_later(exception)
      end
    end

    # A failure that nobody waits for is reported: at once, or when the parent ends, which may ask for it until then, but not for long.
    def finish
      @loop.forget(@again) if @again
      @task = nil # with its stack: the parent keeps one that has failed
      @waiters.each { |id| @loop.end_wait(id) }
      @finished&.call
      return report if @parent.nil?
      return @parent.release(self) if @failure.nil? || @noticed || @cancellation || @waiters.any?

      @loop.after(NOTICE_SECONDS) { notice }
    end

    # In a fiber, because hooks that get the report may wait.
    def notice
      @loop.spawn(Task.transient) { leave_parent }
    rescue Overloaded
      nil # it is reported when the parent ends
    end

    def leave_parent
      return unless @parent

      @parent.release(self)
      @parent = nil
      report
    end

    def report
      return if @failure.nil? || @noticed || @cancellation || @waiters.any? || EventLoop::Fatal === @failure

      @loop.report(@failure)
    end
  end
end

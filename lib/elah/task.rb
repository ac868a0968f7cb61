# frozen_string_literal: true

module Elah
  # One thread of control in the loop: a request that is being handled, or a fiber that the application spawned. No list is made
  # before it is needed: most requests never wait.
  class Task
    # An exception that waits for the task to wait: how many shields it passes through, and the request that it is meant for.
    Postponed = Struct.new(:exception, :shields, :request)
    private_constant :Postponed

    # @return [Elah::Request, nil] nil for a spawned fiber
    attr_accessor :request

    # @return [Fiber] the fiber to enter next: the task's own, or one that the handler made and waits in
    attr_accessor :suspended

    # @return [Integer, nil] the wait that the task was suspended for last
    attr_accessor :wait

    # @return [Exception, nil] what is raised in the task when it is entered next
    attr_reader :raising

    # @return [Float, nil] when its time is over, in seconds of the monotonic clock; a request has a deadline besides
    attr_accessor :deadline

    # @return [Elah::Entity::Activation, nil] the entity whose method it runs
    attr_accessor :activation

    # @return [Elah::Entity::Activation, nil] the entity that it waits for
    attr_accessor :awaits

    # @return [Array<String>, nil] the entities of other workers that wait for it
    attr_accessor :callers

    # @return [Elah::Task, nil] the one that started it and that it ends with
    attr_accessor :parent

    # @return [#stop, #go_on, nil] what is told when it waits, and when it goes on
    attr_accessor :meter

    # @return [Boolean] whether its fiber may have state to clear, see {EventLoop::FiberState}. Asked after each request, so no method of Ruby.
    attr_accessor :fiber_state

    # Whether a loop of its own may end while the task still waits.
    attr_writer :transient

    # Whether what it started may outlive it.
    attr_writer :keeps_children

    # @return [Array<Proc>, nil] what {#finish} has to call; nil when there is nothing. Asked after each request, so no method of Ruby.
    attr_reader :endings

    # Sets every variable: Ruby 3.1 looks one that is unset up in a table each time, 400 instructions a request.
    def initialize
      @request = @suspended = @wait = @endings = @raising = @postponed = @children = @deadline = nil
      @activation = @awaits = @callers = @parent = @meter = nil
      @raising_shields = @shields = 0
      @woken = @transient = @keeps_children = @fiber_state = false
    end

    # Sets what is raised when it is entered next.
    #
    # @param exception [Exception]
    # @param shields [Numeric] how many shields it passes through
    def interrupt(exception, shields)
      @raising = exception
      @raising_shields = shields
    end

    # @return [Exception, nil] what is to be raised, once
    def take_raising = @raising&.tap { @raising = nil }

    # Notes that what it waits for was given to it, as the lock of a Mutex is. Such a wait is not ended by an exception, also not by one
    # that is on its way: what was given would be lost.
    def wake
      @woken = true
      postpone(@raising, @raising_shields) if @raising
      @raising = nil
    end

    # Notes that it has what it waited for.
    def settle = @woken = false

    # @return [Boolean]
    def woken? = @woken

    # @return [Boolean]
    def transient? = @transient

    # @return [Boolean]
    def keeps_children? = @keeps_children

    # @return [Integer] the shields that are around what it does
    def shields = @shields

    # Counts one shield more during the block.
    def shielded
      @shields += 1
      yield
    ensure
      @shields -= 1
    end

    # Takes a fiber on that ends with what runs now.
    #
    # @param child [Elah::Async]
    def adopt(child)
      at_end { end_children } unless @children
      (@children ||= {}.compare_by_identity)[child] = true
    end

    # Forgets a child that has ended.
    #
    # @param child [Elah::Async]
    def release(child) = @children&.delete(child)

    # Keeps an exception for the next time that the task waits, in the request that it has now.
    #
    # @param exception [Exception]
    # @param shields [Integer] how many shields it passes through
    def postpone(exception, shields)
      forget_postponed_of_others
      (@postponed ||= []) << Postponed.new(exception, shields, request)
    end

    # @return [Exception, nil] the next that was kept and that no shield holds off
    def next_postponed
      return unless @postponed

      forget_postponed_of_others
      kept = @postponed.find { |candidate| candidate.shields >= shields } or return
      @postponed.delete(kept)
      kept.exception
    end

    # Calls the block when what runs now, a request or a spawned fiber, has ended, in the same fiber. The last one is called first.
    #
    # @return [Proc] for {#forget_ending}
    def at_end(&block)
      (@endings ||= []) << block
      block
    end

    # Takes back what {#at_end} was given: what it was for is done.
    #
    # @param ending [Proc]
    def forget_ending(ending) = @endings&.delete_if { |other| other.equal?(ending) }

    # Calls the blocks of {#at_end}. What was kept for the next wait is not meant for theirs.
    #
    # @yieldparam exception [Exception] what a block ended with
    def finish(&failed)
      @postponed = nil
      call_endings(&failed)
    end

    # As {#finish}, for one of several calls that this task makes. Who cancels it meanwhile is heard afterwards.
    #
    # @yieldparam exception [Exception] what a block ended with
    def finish_call(&failed) = shielded { call_endings(&failed) }

    # Pools ask this of whom they lent something to.
    #
    # @return [Boolean] true: what a task has taken it gives back before it ends
    def alive? = true

    # Drops an exception that was kept and is no longer meant.
    #
    # @param exception [Exception]
    def withdraw(exception) = @postponed&.delete_if { |kept| kept.exception.equal?(exception) }

    private

    def forget_postponed_of_others = @postponed&.select! { |kept| kept.request.equal?(request) }

    def call_endings
      while (ending = @endings&.pop)
        begin
          ending.call
        rescue Exception => e # -- the others have to be called
          yield e
        end
      end
      @endings = nil
    end

    def end_children
      children = @children.keys
      @children = nil
      children.each { |child| child.parent_ended(keeps_children?) }
    end
  end
end

# frozen_string_literal: true

require_relative "event_loop/cancellation"

module Elah
  # A unit of work in the loop: a request in its handler, or a fiber that the app spawned. Its lists are created on demand, because most requests
  # never wait.
  class Task
    require_relative "task/children"
    require_relative "task/deadline"
    include Children
    include Deadline

    # An exception kept until the task waits: the number of shields that it passes, whether it ends the task, and the request that it is meant for.
    Postponed = Struct.new(:exception, :shields, :is_end, :request)
    private_constant :Postponed

    # @return [Elah::Request, nil] nil for a spawned fiber
    attr_accessor :request

    # @return [Fiber] the task's own, and the one to resume next: that, or one that the handler made and waits in
    attr_accessor :fiber, :suspended

    # @return [Integer, nil] the last wait of the task
    attr_accessor :wait

    # @return [Exception, nil] exception to raise in the task when it is resumed
    attr_reader :raising

    # @return [Elah::Entity::Activation, nil] the entity whose method it runs, and the one that it waits for
    attr_accessor :activation, :awaits

    # @return [Array<String>, nil] entities of other workers that wait for it
    attr_accessor :callers

    # @return [Elah::Task, nil] the task that started it, and with which it ends
    attr_accessor :parent

    # @return [#stop, #start, nil] notified when it waits, and when it continues
    attr_accessor :observer

    # @return [Boolean] whether its fiber may have state to clear, see {EventLoop::FiberState}. Read after each request, so it is not a Ruby method.
    attr_accessor :fiber_state

    # @return [Exception, nil] what a wait of the current request or call has raised last to end it, unless that was a time limit whose block is over
    attr_accessor :ended_by

    # @return [Integer, false] the last wait that ended with {#wake}
    attr_reader :woken

    # @return [Array<Postponed>, nil] exceptions for {#next_postponed}. Every wait reads it, so it is not a Ruby method.
    attr_reader :postponed

    # @return [Integer, nil] key of a request whose handler has been told by {#note_client_gone}
    attr_reader :told_gone

    # @return [Integer] another one for each request or call in which it has entered a block, see {#enter_block}
    attr_reader :unit

    # @return [Elah::Offload::Job, nil] the one that it waits for
    attr_accessor :job

    # @return [Boolean] whether it ends with its loop, which has cancelled it for that
    attr_accessor :ending

    # @return [Array<Proc>, nil] blocks for {#finish}; nil when there are none. Read after each request, so it is not a Ruby method.
    attr_reader :endings

    # @return [Task] one that may still wait when the block of `Elah.run` and its fibers have ended
    def self.transient = new(is_transient: true)

    # @return [Task] the same, of Elah itself: the fibers of the app may use it at their end
    def self.service = new(is_transient: true, is_service: true)

    # Sets every variable: Ruby 3.1 looks an unset one up in a table each time, 400 instructions a request.
    #
    # @param is_transient [Boolean]
    # @param is_service [Boolean]
    def initialize(is_transient: false, is_service: false)
      @request = @fiber = @suspended = @wait = @endings = @raising = @postponed = @started = @deadline = nil
      @activation = @awaits = @callers = @parent = @observer = @masks = @told_gone = @job = @ended_by = @locals = nil
      @limit = @own_limit = @unlimited_from = @shielded_from = @inherited = nil
      @raising_shields = @shields = @unit = @started_count = 0
      @transient = is_transient
      @service = is_service
      @woken = @keeps_children = @fiber_state = @ending = @began_in_shield = @raises_end = false
    end

    # Sets the exception to raise when the task is resumed.
    #
    # @param exception [Exception]
    # @param shields [Numeric] number of shields that it passes
    # @param is_end [Boolean] whether it ends the task; otherwise it is what the wait itself has come to
    def interrupt(exception, shields, is_end)
      @raising = exception
      @raising_shields = shields
      @raises_end = is_end
    end

    # @return [Exception, nil] the exception to raise, only once; nil when the task was woken meanwhile, and gets it at its next wait
    def take_raising
      exception = @raising
      @raising = nil
      return made(exception, @raises_end) unless woken?

      postpone(exception, @raising_shields, is_end: @raises_end)
      nil
    end

    # Records that the task has acquired what it waits for, such as the lock of a Mutex. An exception does not end such a wait, even one that is
    # already on its way: the lock would be lost. May be called from any thread, and is of no effect once the task waits for something else.
    #
    # @param wait [Integer]
    def wake(wait) = @woken = wait

    # @return [Boolean] whether the last wait has ended with {#wake}
    def woken? = @woken == @wait

    # @return [String] without the loop and the request
    def inspect = "#<#{self.class}>"

    # @return [Boolean]
    def transient? = @transient

    # @return [Boolean] whether it, or the task that started it, ends after the fibers of the app
    def service? = root.service

    # @param exception [Exception, #exception] what they would defer
    # @return [Integer] number of shields and masks around the running code
    def shields(exception) = @masks.nil? || @masks.empty? ? @shields : @shields + deferring_masks(EventLoop::Cancellation.kind(exception))

    # Counts one more shield during the block.
    def shielded
      unit = enter_block
      before = @unlimited_from
      @unlimited_from = @limit
      @shielded_from = @limit if @shields.zero?
      @shields += 1
      yield
    ensure
      if @unit == unit
        @shields -= 1
        @unlimited_from = before
      end
    end

    # Applies a mask of Thread.handle_interrupt during the block.
    #
    # @param mask [Hash{Module=>Symbol}]
    # @raise [Exception] a kept exception that no mask defers any more
    def masked(mask)
      unit = enter_block
      (@masks ||= []) << mask
      begin
        raise_postponed
        result = yield
      ensure
        # Fibers of the task may leave theirs in any order.
        @masks.delete_at(@masks.rindex { |other| other.equal?(mask) }) if @unit == unit
      end
      raise_postponed
      result
    end

    # Begins a block that changes the task until its end. In a fiber of the handler, such as that of an Enumerator, it may never end, or in a later
    # request.
    #
    # @return [Integer] the current {#unit}
    def enter_block
      @fiber_state = true
      @unit
    end

    # @return [Hash{Symbol=>Object}] variables of all fibers of the task, until its fiber is cleared
    def locals
      @fiber_state = true
      @locals ||= {}
    end

    # Leaves the blocks that have not ended with their request or call, and drops the variables.
    def leave_blocks
      @unit += 1
      @deadline = @own_limit = @limit = @unlimited_from = @shielded_from = @masks = @locals = nil
      @shields = 0
    end

    # @return [Task] the first of those that started one another: that of the request, if a request did
    def root
      task = self
      while (starter = task.parent)
        task = starter
      end
      task
    end

    # Keeps an exception for the next wait of the task, within its current request, unless it is kept already.
    #
    # @param exception [Exception]
    # @param shields [Integer] number of shields that it passes
    # @param is_end [Boolean] see {#interrupt}
    def postpone(exception, shields, is_end: true)
      forget_postponed_of_others
      return if @postponed&.any? { |kept| kept.exception.equal?(exception) }

      (@postponed ||= []) << Postponed.new(exception, shields, is_end, request)
    end

    # @return [Exception, nil] the next kept exception that no shield defers
    def next_postponed
      return unless @postponed

      forget_postponed_of_others
      kept = @postponed.find { |candidate| candidate.shields >= shields(candidate.exception) } or return
      @postponed.delete(kept)
      made(kept.exception, kept.is_end)
    end

    # @raise [Exception] the next kept exception that no shield defers
    def raise_postponed
      postponed = next_postponed and raise(postponed)
    end

    # Calls the block when the current request or spawned fiber has ended, in the same fiber. The last block is called first.
    #
    # @return [Proc] for {#forget_ending}
    def at_end(&block)
      (@endings ||= []) << block
      block
    end

    # Removes a block of {#at_end}: its purpose is done.
    #
    # @param ending [Proc]
    def forget_ending(ending) = @endings&.delete_if { |other| other.equal?(ending) }

    # Calls the blocks of {#at_end}. Exceptions kept for the next wait do not reach them.
    #
    # @yieldparam exception [Exception] an exception that ended a block
    def finish(&failed)
      @postponed = @ended_by = nil
      call_endings(&failed)
    end

    # Does the same as {#finish}, for one of several calls of this task. A cancellation meanwhile takes effect afterwards.
    #
    # @yieldparam exception [Exception] an exception that ended a block
    def finish_call(&failed) = shielded { call_endings(&failed) }

    # Connection pools ask this of the owner of a connection.
    #
    # @return [Boolean] true: a task returns its connections before it ends
    def alive? = true

    # Records that a write has raised {ClientGone} in the handler.
    def note_client_gone = @told_gone = @request&.key

    # Drops a kept exception that no longer applies.
    #
    # @param exception [Exception]
    def withdraw(exception) = @postponed&.delete_if { |kept| kept.exception.equal?(exception) }

    protected

    attr_reader :service

    private

    # The exception that is raised now.
    def made(exception, is_end)
      exception = exception.exception
      @ended_by = exception if is_end
      exception
    end

    # A mask that defers the kind is one more shield. One that lets it through undoes those around it.
    def deferring_masks(kind)
      @masks.inject(0) do |count, mask|
        case Scheduler::InterruptMasks.timing(mask, kind)
        when nil then count
        when :never then count + 1
        else 0
        end
      end
    end

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
  end
end

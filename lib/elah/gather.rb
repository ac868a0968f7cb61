# frozen_string_literal: true

require_relative "async"
require_relative "gather/fiber_call"
require_relative "gather/result"
require_relative "gather/results"
require_relative "gather/scattered_calls"

module Elah
  # The calls of one `Elah.gather`: one deadline ends them all. A block runs in a fiber of its own; a deferred call costs none, and
  # leaves together with all others that go the same way.
  #
  # == Deferred calls
  #
  # `g.call(key, deferred)` takes a call that is described and not made yet. It has these methods:
  #
  # [carrier] who can send it together with others, compared by identity; nil when it has to run here
  # [call] makes it and returns its answer; asked in a fiber of its own when there is no carrier
  #
  # A carrier has one method, and never waits in it:
  #
  # [scatter(deferred_calls, seconds)] sends them, with so much time for all (nil: no bound), and returns what has these methods:
  #
  # What was scattered:
  #
  # [wait(seconds)] suspends the fiber until every call has ended, or so much time is over (nil: no bound)
  # [outcome(index)] what became of the call of this index, as `[:answered, answer, nil]` or `[outcome, nil, error]`, where the outcome
  #                  is :failed, :limited or :late, and the error may be nil for :late
  # [cancel] gives up what has no answer yet; may be called at any time, and again
  class Gather
    NONE = Object.new.freeze
    private_constant :NONE

    # @param event_loop [Elah::EventLoop]
    # @param seconds [Numeric, nil]
    def initialize(event_loop, seconds)
      @loop = event_loop
      @seconds = seconds
      @due = seconds && Concurrency.now + seconds
      @calls = {}
      @fibers = []
      @fibers_open = 0
      @scattered = {}.compare_by_identity
      @wait = nil
    end

    # Starts one call. A block runs at once, until it waits for the first time; deferred calls leave together when all are named.
    #
    # @param key [Object] names the result; without one calls are numbered from 0
    # @param deferred [#carrier, #call] instead of a block, for example a call of an entity
    # @param fallback [Object] the value when there is no answer; one that can be called is called with the error
    # @raise [ArgumentError] when the key is taken, or there are both a block and a deferred call, or neither
    def call(key = @calls.size, deferred = nil, fallback: NONE, &block)
      raise ArgumentError, "There is a call #{key.inspect} already." if @calls.key?(key)
      raise ArgumentError, "A call is a block or a deferred call, one of the two." if block.nil? == deferred.nil?

      @calls[key] = nil # it is taken, also for the block
      @calls[key] = [begin_call(deferred, block), fallback]
      nil
    end

    # Waits until every call has ended or the deadline has come; ends what is left.
    #
    # @return [Results]
    def collect
      yield self
      @scattered.each_value { |calls| calls.start(seconds_left) }
      wait_for_fibers unless @fibers_open.zero?
      @scattered.each_value { |calls| calls.wait(seconds_left) }
      is_collected = true
      Results.new(@calls.to_h { |key, (call, fallback)| [key, result(key, call, fallback)] })
    ensure
      @fibers.each { |call| call.cancel(is_collected ? late : cancelled) unless call.done? }
      @scattered.each_value(&:cancel)
    end

    private

    def begin_call(deferred, block)
      carrier = deferred&.carrier
      return (@scattered[carrier] ||= ScatteredCalls.new(carrier)).add(deferred) if carrier

      @fibers_open += 1
      FiberCall.new(@loop, method(:fiber_ended), &block || deferred.method(:call)).tap { |call| @fibers << call }
    end

    def fiber_ended
      @fibers_open -= 1
      @loop.end_wait(@wait) if @wait && @fibers_open.zero?
    end

    def wait_for_fibers
      left = seconds_left
      return if left && left <= 0

      @wait = @loop.new_wait
      @loop.start_timer(@wait, left) if left
      @loop.park(@wait)
    ensure
      @loop.cancel_wait(@wait) if @wait
    end

    def seconds_left = @due && [@due - Concurrency.now, 0.0].max

    def result(key, call, fallback)
      outcome, answer, error = call.outcome
      error ||= late if outcome == :late
      Result.new(key, outcome, answer, error, fallback)
    end

    def late = DeadlineExceeded.new("There was no answer within #{@seconds} s.")

    def cancelled = Cancelled.new("The gather ended before this call.")
  end
end

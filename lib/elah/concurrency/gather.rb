# frozen_string_literal: true

require_relative "gather/fiber_call"
require_relative "gather/result"
require_relative "gather/results"
require_relative "gather/scattered_calls"

module Elah
  # The calls of one `Elah.gather`, all under one deadline. A block runs in its own fiber. A deferred call needs none, and is sent together with all
  # others of the same route.
  #
  # == Deferred calls
  #
  # `g.call(key, deferred)` accepts a call that is described but not made yet. It has these methods:
  #
  # [route] the object that can send it together with others, compared by identity; nil when it has to run here
  # [call] makes it and returns its result; called in a fiber of its own when there is no route
  #
  # A route has one method, and never waits in it:
  #
  # [scatter(deferred_calls, seconds)] sends them, with this time limit for all (nil: none), and returns an object with these methods:
  #
  # Scattered calls:
  #
  # [wait(seconds)] suspends the fiber until every call has ended, or the time is over (nil: no limit)
  # [outcome(index)] the outcome of the call with this index: `[:returned, result, nil]` or `[outcome, nil, error]`, where the outcome is :failed,
  # :limited or :late, and the error may be nil for :late
  # [cancel] cancels the calls without a result; may be called at any time, and repeatedly
  class Gather
    NONE = Object.new.freeze
    private_constant :NONE

    # @param event_loop [Elah::EventLoop]
    # @param seconds [Numeric, nil]
    # @api private
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

    # Starts one call. A block runs at once, until its first wait; deferred calls are sent together when all are added.
    #
    # @param key [Object] key of the result; calls without one are numbered from 0
    # @param deferred [#route, nil] a deferred call in place of a block, for example a call of an entity
    # @param fallback [Object] the value when there is no result; a callable one receives the error
    # @yieldreturn [Object]
    # @return [nil]
    # @raise [ArgumentError] when the key is used already, or there are both a block and a deferred call, or neither
    # @raise [OutsideLoop] in another thread
    def call(key = @calls.size, deferred = nil, fallback: NONE, &block)
      raise OutsideLoop, "Only a fiber of the same loop can add calls to a gather." unless Thread.current.equal?(@loop.thread)
      raise ArgumentError, "The key #{key.inspect} is used already: each call of a gather needs its own." if @calls.key?(key)
      raise ArgumentError, "Pass either a block or a deferred call." if block.nil? == deferred.nil?

      @calls[key] = nil # it is taken, also for the block
      @calls[key] = [begin_call(deferred, block), fallback]
      nil
    end

    # Waits until every call has ended or the deadline has passed; cancels the remaining calls.
    #
    # @return [Results]
    # @api private
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
      route = deferred&.route
      return (@scattered[route] ||= ScatteredCalls.new(route)).add(deferred) if route

      @fibers_open += 1
      FiberCall.new(@loop, @due, method(:fiber_ended), &block || deferred.method(:call)).tap { |call| @fibers << call }
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
      outcome, reply, error = call.outcome
      error ||= late if outcome == :late
      Result.new(key, outcome, reply, error, fallback)
    end

    def late = DeadlineExceeded.new("There was no result within #{@seconds} s.")

    def cancelled = Cancelled.new("The gather ended before this call.")
  end
end

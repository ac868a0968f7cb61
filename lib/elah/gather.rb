# frozen_string_literal: true

require_relative "async"

module Elah
  # The calls of one `Elah.gather`: each runs in a fiber of its own; one deadline ends them all.
  class Gather
    # What became of one call.
    class Result
      # @return [Object]
      attr_reader :key

      # @return [Symbol] :answered, :failed (it raised) or :late (the deadline came first)
      attr_reader :outcome

      # @return [Exception, nil] why there is no answer
      attr_reader :error

      def initialize(key, outcome, answer, error, fallback)
        @key = key
        @outcome = outcome
        @answer = answer
        @error = error
        @fallback = fallback
        freeze
      end

      # @return [Object] the answer, else the fallback; one that can be called is called with the error
      # @raise [Exception] the error, when there is no fallback
      def value
        return @answer if answered?
        raise @error if @fallback.equal?(NONE)

        @fallback.respond_to?(:call) ? @fallback.call(@error) : @fallback
      end

      # @return [Boolean]
      def answered? = @outcome == :answered

      # @return [Boolean]
      def failed? = @outcome == :failed

      # @return [Boolean]
      def late? = @outcome == :late
    end

    # What came of all calls, in their order.
    class Results
      include Enumerable

      # @param results [Hash{Object=>Result}]
      def initialize(results)
        @results = results.freeze
        freeze
      end

      # @return [Result, nil] of one call
      def [](key) = @results[key]

      # @yieldparam result [Result]
      def each(&block) = @results.each_value(&block)

      # @return [Array<Object>] answers and fallbacks
      # @raise [Exception] of a call that has neither
      def values = map(&:value)

      # @return [Hash{Object=>Object}] answers and fallbacks by key
      # @raise [Exception] of a call that has neither
      def to_h = @results.transform_values(&:value)

      # @return [Boolean] whether every call was answered
      def complete? = all?(&:answered?)
    end

    NONE = Object.new.freeze
    private_constant :NONE

    # @param event_loop [Elah::EventLoop]
    # @param seconds [Numeric, nil]
    def initialize(event_loop, seconds)
      @loop = event_loop
      @seconds = seconds
      @due = seconds && Concurrency.now + seconds
      @calls = {}
      @open = 0
    end

    # Starts one call: its block runs at once, until it waits for the first time.
    #
    # @param key [Object] names the result; without one calls are numbered from 0
    # @param fallback [Object] the value when there is no answer; one that can be called is called with the error
    # @raise [ArgumentError] when the key is taken
    def call(key = @calls.size, fallback: NONE, &block)
      raise ArgumentError, "There is a call #{key.inspect} already." if @calls.key?(key)

      @open += 1
      @calls[key] = [nil, fallback]
      @calls[key][0] = Async.new(@loop, parent: @loop.current_task, finished: method(:finished), &block)
      nil
    end

    # Waits until every call has ended or the deadline has come; ends what is left.
    #
    # @return [Results]
    def collect
      yield self
      wait unless @open.zero?
      Results.new(@calls.to_h { |key, (async, fallback)| [key, result(key, async, fallback)] })
    ensure
      @calls.each_value { |async, _| async&.cancel(late) }
    end

    private

    def finished
      @open -= 1
      @loop.end_wait(@wait) if @wait && @open.zero?
    end

    def wait
      left = @due && @due - Concurrency.now
      return if left && left <= 0

      @wait = @loop.new_wait
      @loop.start_timer(@wait, left) if left
      @loop.park(@wait)
    ensure
      @loop.cancel_wait(@wait) if @wait
    end

    def result(key, async, fallback)
      return Result.new(key, :late, nil, late, fallback) unless async.done?
      return Result.new(key, :failed, nil, async.error, fallback) if async.error

      Result.new(key, :answered, async.value, nil, fallback)
    end

    def late = DeadlineExceeded.new("There was no answer within #{@seconds} s.")
  end
end

# frozen_string_literal: true

require "json"
require "open3"

# Owns the record of what clients called and what was returned, and asks Porcupine whether the calls of each object
# could have run one at a time, each between its start and its end.
class History
  CHECK = File.expand_path("../../target/test-servers/linearizability", __dir__)

  # Operations that change nothing.
  READS = %i[read find holder show top].freeze

  # A call. The files of test/cluster/linearizability say what objects and operations there are. Without an end nobody
  # knows whether it has run.
  Call = Struct.new(:object, :client, :key, :operation, :input, :output, :start, :end, keyword_init: true) do
    def to_json(*arguments)
      head = { object: object, client: client, key: key, operation: operation, start: start, end: self.end }
      { **head, **input, **output.to_h }.compact.to_json(*arguments)
    end

    def write? = !READS.include?(operation)
  end

  # @return [String, nil] why histories cannot be checked here
  def self.obstacle = ("Porcupine is missing: bin/setup --tests builds it, with Go" unless File.executable?(CHECK))

  # @return [Array<Call>]
  attr_reader :calls

  # @param object [Symbol] what is called: `:account`, `:pool` or `:board`
  def initialize(object, calls = [])
    @object = object
    @calls = calls
    @lock = Mutex.new
    @number = 0
  end

  # Calls something, and notes it.
  #
  # @param input [Hash] of the call
  # @yieldreturn [Hash, Symbol] what it returned; `:unknown`: nobody knows whether it ran; `:refused`: it did not
  # @return [Hash, Symbol] the same
  def record(client, key, operation, **input, &block) = record_all([[client, key, operation, input]], &block)

  # Makes one call of several objects, and notes what it did to each.
  #
  # @param calls [Array<Array>] the arguments of {#record} for each
  # @yieldparam calls [Array<Call>]
  # @yieldreturn [Hash, Symbol] as in {#record}, or an Array of what each object returned
  # @return [Array, Hash, Symbol] the same
  def record_all(calls)
    start = now
    calls = calls.map do |client, key, operation, input|
      Call.new(object: @object, client: client, key: key, operation: operation, input: input, start: start)
    end
    result = yield(calls)
    return result if result == :refused || (result == :unknown && calls.none?(&:write?))

    settle(calls, result) unless result == :unknown
    @lock.synchronize { @calls.concat(calls) }
    result
  end

  # Notes what calls returned whose fate was unknown.
  #
  # @param calls [Array<Call>]
  # @param result [Hash, Array<Hash>]
  def settle(calls, result)
    ended = now
    calls.zip([result].flatten) { |call, output| call.end, call.output = ended, output }
  end

  # @return [Integer] one that was not returned before
  def new_number = @lock.synchronize { @number += 1 }

  # @return [Array<Call>] the writes that were confirmed
  def confirmed = @calls.select { |call| call.write? && call.end }

  # @return [Array<Call>] the writes of which nobody knows
  def unknown = @calls.select { |call| call.write? && call.end.nil? }

  # @return [String, nil] what no order of the calls explains
  def violation
    output, status = Open3.capture2e(CHECK, stdin_data: @calls.map { |call| "#{call.to_json}\n" }.join)
    output unless status.success?
  end

  # @return [Float] the longest time between two confirmed writes, in seconds
  def longest_pause = confirmed.map(&:end).sort.each_cons(2).map { |one, two| two - one }.max.to_i / 1e9

  def to_s
    format("%<calls>d calls, %<unknown>d of unknown fate, longest pause %<pause>.1f s",
           calls: @calls.size, unknown: unknown.size, pause: longest_pause)
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

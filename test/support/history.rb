# frozen_string_literal: true

require "json"
require "open3"

# Owns the record of what clients called and what was returned, and asks Porcupine whether the calls of each account
# could have run one at a time, each between its start and its end.
class History
  CHECK = File.expand_path("../../target/test-servers/linearizability", __dir__)

  # A deposit, or a read if there is no amount. Without an end nobody knows whether it has run.
  Call = Struct.new(:client, :key, :amount, :start, :end, :balance, :writer, keyword_init: true) do
    def to_json(*arguments)
      { client: client, key: key, operation: amount ? "deposit" : "read", amount: amount.to_i,
        balance: balance, start: start, end: self.end }.compact.to_json(*arguments)
    end
  end

  # @return [String, nil] why histories cannot be checked here
  def self.obstacle = ("Porcupine is missing: bin/setup --tests builds it, with Go" unless File.executable?(CHECK))

  # @return [Array<Call>]
  attr_reader :calls

  def initialize(calls = [])
    @calls = calls
    @lock = Mutex.new
    @amount = 0
  end

  # Calls something, and notes it.
  #
  # @param amount [Integer, nil] of a deposit
  # @yieldreturn [Hash, Symbol] the balance and the writer that returned it; `:unknown`: nobody knows whether it ran;
  #   `:refused`: it did not
  # @return [Hash, Symbol] the same
  def record(client, key, amount = nil)
    call = Call.new(client: client, key: key, amount: amount, start: now)
    result = yield
    return result if result == :refused || (result == :unknown && amount.nil?)

    call.end, call.balance, call.writer = now, *result.values_at("balance", "writer") if result.is_a?(Hash)
    @lock.synchronize { @calls << call }
    result
  end

  # @return [Integer] one that no other deposit has
  def new_amount = @lock.synchronize { @amount += 1 }

  # @return [Array<Call>] the deposits that were confirmed
  def confirmed = @calls.select { |call| call.amount && call.end }

  # @return [Array<Call>] the deposits of which nobody knows
  def unknown = @calls.select { |call| call.amount && call.end.nil? }

  # @return [String, nil] what no order of the calls explains
  def violation
    output, status = Open3.capture2e(CHECK, stdin_data: @calls.map { |call| "#{call.to_json}\n" }.join)
    output unless status.success?
  end

  # @return [Float] the longest time between two confirmed deposits, in seconds
  def longest_pause = confirmed.map(&:end).sort.each_cons(2).map { |one, two| two - one }.max.to_i / 1e9

  def to_s
    format("%<calls>d calls, %<unknown>d of unknown fate, longest pause %<pause>.1f s",
           calls: @calls.size, unknown: unknown.size, pause: longest_pause)
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../history/archive"
require_relative "../history/journal"

# A pool of a test, with a clock that the test moves and a journal that it reads.
class PoolCase < Minitest::Test
  SECOND = 1_000_000
  FIRST = 18_005_550_000

  # Keeps the steps as rows of the store would be.
  class Rows
    # @return [Array<Array(String, String)>]
    attr_reader :rows

    def initialize = @rows = []
    def put(key, value) = @rows << [key, value]
    def put_joined(count, *parts) = put(parts.first(count).join, parts.drop(count).join)
  end

  def setup
    @now = 1_700_000_000 * SECOND
    @rows = Rows.new
  end

  def terms(**changes)
    RingPools::Pools::Terms.new(**{ hold: 60 * SECOND, quarantine: 0, policy: "longest_idle", overflow: 18_005_559_999, draining: false, tracking_url: "",
                                    revision: 1 }.merge(changes))
  end

  def numbers(count) = Array.new(count) { |index| FIRST + index }

  # @return [RingPools::Pools::Pool]
  def pool(count, **changes)
    RingPools::Pools::Pool.new(terms(**changes), RingPools::History::Journal.new(@rows, 1)).tap do |pool|
      pool.change(@now, terms(**changes), numbers(count))
    end
  end

  def later(seconds) = @now += (seconds * SECOND).round

  def allocate(pool, session = nil) = pool.allocate(@now, session, "a=1")
end

# frozen_string_literal: true

require "test_helper"
require_relative "../service"

# The poller of a board that several clients follow.
class FeedsTest < Minitest::Test
  # A log without changes, which knows the tasks that read it.
  class Quiet
    attr_reader :readers, :often_read

    def initialize
      @readers = []
      @often_read = Queue.new
    end

    def changes(_definition, log_id, number)
      @readers << Elah.current_loop.current_task
      @often_read << true if @readers.size > 9
      [1, 0, log_id || "log", number, []]
    end
  end

  # The changes 1 to 7, as two readers get them: the listener and the poller, which has read more for others before.
  class Shared
    REPLIES = [[2, [1, 2]], [5, [5]], [6, [3, 4, 5, 6]], [6, [6]], [7, [7]]].freeze

    def initialize = @replies = REPLIES.dup
    def changes(*) = [1, 0, "log", *(@replies.shift || [7, []])]
  end

  # What a listener had read anew, since it had missed changes, came once more from the poller.
  def test_a_listener_gets_each_change_once
    seen = []
    Elah.run do
      board = Struct.new(:key).new("board")
      Leaderboards::Feeds.new(Shared.new, 60).follow(board, "log", 0) do |*, texts|
        seen.concat(texts)
        break if seen.last == 7
      end
    end
    assert_equal [*1..7], seen
  end

  # The second one who came before the poller had begun started another, which nobody ended.
  def test_those_who_come_at_once_have_one_poller
    log = Quiet.new
    Elah.run do
      feeds = Leaderboards::Feeds.new(log, 60)
      board = Struct.new(:key).new("board")
      followers = Array.new(3) { Elah.async { feeds.follow(board, nil, 0) { nil } } }
      log.often_read.pop
      followers.each(&:cancel)
    end
    assert_equal 1, log.readers.drop(3).uniq.size
  end
end

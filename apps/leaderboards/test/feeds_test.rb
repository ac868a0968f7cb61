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

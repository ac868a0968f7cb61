# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../support/sink_case"

# What the log says of a sink.
class SinkNoticesTest < SinkCase
  def setup
    super
    @now = 0.0
    @notices = Elah::Sink::Notices.new("events", clock: -> { @now })
  end

  def test_that_a_destination_is_away_and_that_it_is_back
    away = true
    events = sink { |_| raise Elah::Unavailable, "gone" if away }
    events << "1"
    wait_until("it has failed a few times") { events.health.failures > 3 }
    assert_equal ["WARN  The sink events cannot deliver; accepted events stay in the journal: Elah::Unavailable: gone"],
                 said
    away = false
    assert events.flush
    assert_match(/\AINFO  The sink events delivers again, after \d+\.\d s\z/, said.last)
    assert_equal 2, said.size
  end

  def test_that_there_are_dead_letters
    events = sink { |batch| batch.each { |event| raise NoMethodError, "a bug" if event.bytes == "bad" } }
    events.push_all(%w[good bad])
    assert events.flush
    assert_equal ["WARN  Dead letters of the sink events: 1 more; `elah sink dead events` lists them. " \
                  "The last one's reason: NoMethodError: a bug"], said
  end

  def test_once_in_a_while_with_the_sum
    3.times { @notices.parked([Struct.new(:reason).new("one")]) }
    @now += Elah::Sink::Notices::PAUSE_SECONDS
    @notices.parked([])
    @notices.parked([Struct.new(:reason).new("two")] * 2)
    assert_equal 2, said.size
    assert_match(/ 1 more.*one\z/, said.first)
    assert_match(/ 4 more.*two\z/, said.last)
  end

  def test_one_that_comes_and_goes_is_told_of_once_in_a_while
    3.times do
      @notices.failed("gone")
      @notices.succeeded(1.0)
    end
    assert_equal 2, said.size
    @now += Elah::Sink::Notices::PAUSE_SECONDS
    @notices.failed("gone")
    assert_equal 3, said.size
  end

  private

  # Level and text of the lines of the log.
  def said = @log.string.lines.map { |line| line.chomp.sub(/\A\S+ (\w+ +)\[\d+\] /, '\1') }
end

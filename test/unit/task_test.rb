# frozen_string_literal: true

require "test_helper"
require "support/patience"

# What a task keeps until it waits.
class TaskTest < Minitest::Test
  include Patience

  def setup
    @task = Elah::Task.new
  end

  def postpone(request, message)
    @task.request = request
    @task.postpone(RuntimeError.new(message), 1)
  end

  def test_an_exception_waits_for_the_request_that_it_is_meant_for
    postpone(request = Object.new, "first")
    assert_equal "first", @task.next_postponed.message
    assert_nil @task.next_postponed
    @task.request = request
    postpone(request, "second")
    @task.request = Object.new
    assert_nil @task.next_postponed
  end

  # A fiber whose handlers never wait had all of them, and their requests, until its end.
  def test_those_of_requests_that_have_ended_are_not_kept
    3.times { |number| postpone(Object.new, number.to_s) }
    assert_equal ["2"], @task.instance_variable_get(:@postponed).map { |kept| kept.exception.message }
  end

  # The closing of its stream was taken for what ends the task.
  def test_it_remembers_what_ends_it_and_not_what_a_wait_has_come_to
    @task.postpone(IOError.new("closed"), 1, is_end: false)
    assert_raises(IOError) { @task.raise_postponed }
    assert_nil @task.ended_by
    @task.postpone(ended = RuntimeError.new("ended"), 1)
    assert_raises(RuntimeError) { @task.raise_postponed }
    assert_same ended, @task.ended_by
  end

  # They climbed by recursion: some thousand fibers that start one another ended with SystemStackError.
  def test_tasks_may_start_one_another_as_deep_as_they_like
    last = 100_000.times.inject(@task) { |parent, _| Elah::Task.new.tap { |child| child.parent = parent } }
    @task.request = request = Object.new
    @task.callers = ["Account[1]"]
    assert_same request, last.requested
    refute_predicate last, :apart?
    assert_same @task, last.root
    assert_equal ["Account[1]"], Elah::Entity::Chain.of(last)
    assert(@task.shielded { last.apart? })
  end

  # A child that does not end.
  Child = Struct.new(:number) do
    def done? = false
    def parent_ended(_may_go_on) = throw(:ended, number)
  end

  # It looked at all that the task had started: each call took longer than the one before.
  def test_the_end_of_a_call_looks_only_at_what_it_has_started
    100_000.times { @task.adopt(Child.new) }
    assert_quick(0.001) do
      count = @task.started_count
      @task.adopt(Child.new)
      assert_equal count + 1, catch(:ended) { @task.end_children_since(count) }
    end
  end
end

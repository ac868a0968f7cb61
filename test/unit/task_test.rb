# frozen_string_literal: true

require "test_helper"

# What a task keeps until it waits.
class TaskTest < Minitest::Test
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
end

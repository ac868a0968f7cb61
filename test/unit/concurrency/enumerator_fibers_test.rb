# frozen_string_literal: true

require "test_helper"
require "monitor"
require "elah/concurrency/scheduler"

# A request that read an Enumerator with `next` waited there for a lock that another request held, in a blocking fiber
# on Ruby 3.1: the worker stood still for ever.
class EnumeratorFibersTest < Minitest::Test
  # After that a wait in a blocking fiber ends by the timeout, which needs no scheduler there.
  PATIENCE_SECONDS = 10

  { mutex: Thread::Mutex, monitor: Monitor }.each do |name, lock|
    define_method(:"test_a_#{name}_that_another_task_holds_is_awaited") do
      held = lock.new
      Elah.run do
        Elah.async { held.synchronize { sleep(0.01) } }
        assert_equal(:locked, read { held.synchronize { :locked } })
      end
    end
  end

  def test_the_last_connection_of_a_pool_is_awaited
    pool = Thread::Queue.new
    Elah.run do
      Elah.async { sleep(0.01) && pool << :connection }
      assert_equal(:connection, read { pool.pop })
    end
  end

  def test_others_run_while_it_waits
    order = []
    Elah.run do
      reader = Elah.async { order << Enumerator.new { |values| sleep(0.01) && values << :read }.next }
      order << :other
      reader.wait
    end
    assert_equal %i[other read], order
  end

  def test_an_enumerator_inside_another_one
    Elah.run do
      inner = Enumerator.new { |values| 2.times { |number| sleep(0.001) && values << number } }
      outer = Enumerator.new { |values| loop { values << (inner.next * 10) } }
      assert_equal([0, 10], [outer.next, outer.next])
      assert_raises(StopIteration) { outer.next }
    end
  end

  def test_what_is_zipped_may_wait
    waiting = Object.new.extend(Enumerable)
    waiting.define_singleton_method(:each) { |&block| 2.times { |number| sleep(0.001) && block.call(number) } }
    Elah.run { assert_equal([[:a, 0], [:b, 1]], %i[a b].zip(waiting)) }
  end

  def test_a_cancellation_is_raised_where_it_waits
    ended = nil
    Elah.run do
      reader = Elah.async do
        Enumerator.new do
          timely { sleep }
        rescue Elah::Cancelled => e
          ended = e
          raise
        end.next
      end
      assert_same reader.cancel.wait.error, ended
    end
  end

  def test_the_protocol_of_enumerators_is_that_of_ruby
    assert_equal(protocol, Elah.run { protocol })
    refute_empty protocol
  end

  private

  # Everything that the fiber of an Enumerator passes on: values, `feed`, keywords, results and exceptions.
  def protocol
    various = Enumerator.new { |values| [[], [1, 2], [[3]], [nil]].each { |several| values.yield(*several) } }
    fed = [1, 2].map
    arguments = Object.new
    arguments.define_singleton_method(:each) { |*list, **named, &receive| receive.call(list, named) }
    failing = Enumerator.new { |values| values << 1 && raise(IndexError) }
    started = [1, 2].each.tap(&:next)
    [
      values_of(various), values_of({ a: 1 }.each), values_of((1..).lazy.map { |number| number * 2 }.first(2).each),
      [fed.next, fed.feed(:a), fed.next, fed.feed(:b), result_of(fed)],
      values_of(arguments.to_enum(:each, 1).each(2, named: 3)), result_of(Enumerator.new { |_| :result }),
      [failing.next, assert_raises(IndexError) { failing.next }.message, failing.next],
      [started.peek, started.rewind.next, assert_raises(TypeError) { started.dup }.message, started.size]
    ]
  end

  def values_of(enumerator)
    values = []
    loop { values << enumerator.next_values }
    values
  end

  def result_of(enumerator) = loop { enumerator.next }

  # Reads what the block returns as an Enumerator's first value, in a task of its own.
  def read(&block) = Elah.async { Enumerator.new { |values| values << timely(&block) }.next }.value

  def timely(&block) = Timeout.timeout(PATIENCE_SECONDS, &block)
end

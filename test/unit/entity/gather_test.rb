# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Calls of entities in `Elah.gather`.
class EntityGatherTest < EntityCase
  def test_deferred_calls_are_made_together
    Elah.run do
      results = Elah.gather do |gather|
        10.times { |n| gather.call(n, @accounts[n].deferred.deposit(n), fallback: nil) }
        gather.call(:poor, @accounts["1"].deferred.withdraw(100), fallback: :overdrawn)
      end
      assert_equal (0..9).to_a << :overdrawn, results.values
      assert_instance_of Account::Poor, results[:poor].error
    end
  end

  def test_a_slow_entity_has_its_fallback_and_keeps_its_turn
    accounts = accounts("gathered") { durability :memory }
    Elah.run do
      gate = Gate.new
      %w[1 2].each { |key| accounts[key].balance } # they are in memory
      results = Elah.gather(deadline: 1) do |gather|
        gather.call(:quick, accounts["1"].deferred.deposit(1), fallback: :late)
        gather.call(:slow, accounts["2"].deferred.wait(gate), fallback: :late)
      end
      assert_equal [1, :late], results.values
      assert_equal 0, accounts["2"].balance, "the call that was given up holds nobody up"
    end
  end

  # The calls of a worker were made one after the other, so those behind one that waits had their fallbacks too.
  def test_a_call_that_waits_holds_up_none_behind_it
    accounts = accounts("parallel") { define_method(:open) { |gate| gate << nil } }
    Elah.run do
      gate = Gate.new
      results = Elah.gather(deadline: 20) do |gather|
        gather.call(:waits, accounts["1"].deferred.wait(gate), fallback: :late)
        gather.call(:behind, accounts["1"].deferred.deposit(1), fallback: :late)
        gather.call(:opens, accounts["2"].deferred.open(gate), fallback: :late)
      end
      assert_equal %i[returned returned returned], results.map(&:outcome)
    end
  end

  def test_without_a_second_fiber_a_call_that_waits_is_before_those_behind_it
    Elah.run do
      Elah.current_loop.instance_variable_set(:@spawned_max, 2) # this one is the first
      gate = Gate.new
      Elah.current_loop.post { gate << nil }
      results = Elah.gather(deadline: 20) do |gather|
        gather.call(:waits, @accounts["1"].deferred.wait(gate))
        gather.call(:behind, @accounts["2"].deferred.deposit(1))
      end
      assert_equal 1, results[:behind].value
    end
  end

  # It was taken for the cancellation of the caller: calls that were stored were said to be cancelled, and those behind
  # it were not made.
  def test_a_method_that_raises_the_cancelled_of_its_own_fiber_fails_alone
    accounts = accounts("giving up") { define_method(:give_up) { Elah.async { Queue.new.pop }.cancel.value } }
    Elah.run do
      [{}, { deadline: 20 }].each.with_index(1) do |options, round|
        replies = accounts.call_many([["1", :deposit, 1], ["2", :give_up], ["3", :deposit, 1]], **options)
        assert_equal [round, Elah::Cancelled, round], [replies[0], replies[1].class, replies[2]]
      end
    end
  end

  # A time limit of its own that has passed, or a shield, hid that it was the caller's.
  def test_a_cancellation_of_the_caller_ends_all_its_calls
    accounts = accounts("cancelled") do
      define_method(:hold) { |begun, gate| (begun << true) && Elah.shield { gate.pop } }
      define_method(:tidy) do |begun, gate|
        (begun << true) && gate.pop
      ensure
        let_a_limit_pass
      end
      define_method(:let_a_limit_pass) { Elah.timeout(0.001) { Queue.new.pop } rescue nil }
    end
    Elah.run do
      %i[hold tidy].each do |name|
        begun, gate = Array.new(2) { Gate.new }
        calling = Elah.async { accounts.call_many([["1", name, begun, gate], ["2", :deposit, 1]]) }
        begun.pop
        calling.cancel
        gate << true if name == :hold
        assert_instance_of Elah::Cancelled, calling.wait.error, name
        assert_equal 0, accounts["2"].balance, name
      end
    end
  end

  # The raised error is that of a worker which has handed over the entity since the call was sent.
  def test_a_deferred_call_that_meets_a_change_of_owner_is_made_again
    changes = [true]
    accounts = accounts("moved") { define_method(:move) { changes.pop ? raise(Elah::Entity::Moved) : balance } }
    Elah.run do
      results = Elah.gather(deadline: 10) do |gather|
        gather.call(:deposit, accounts["1"].deferred.deposit(1))
        gather.call(:moved, accounts["1"].deferred.move)
      end
      assert_equal({ deposit: 1, moved: 1 }, results.to_h)
    end
  end

  # Single calls waited for the next owner. These failed until everybody knew that the worker was gone.
  def test_calls_that_did_not_reach_their_owner_are_made_again
    gone = []
    accounts = accounts("gone") { define_method(:move) { gone.pop ? raise(Elah::PeerUnavailable, "gone") : balance } }
    Elah.run do
      gone.replace([true])
      assert_equal [0, 0], accounts.call_many([["1", :balance], ["1", :move]])
      gone.replace([true])
      assert_equal [0, 0], accounts.call_many([["1", :balance], ["1", :move]], deadline: 10)
      gone.replace([true])
      results = Elah.gather(deadline: 10) { |gather| gather.call(:moved, accounts["1"].deferred.move) }
      assert_equal({ moved: 0 }, results.to_h)
    end
  end

  def test_a_call_that_may_have_run_at_a_lost_owner_is_not_made_again
    error = Elah::PeerUnavailable.new("lost", may_have_run: true)
    accounts = accounts("killed") { define_method(:move) { raise error } }
    Elah.run { assert_predicate accounts.call_many([["1", :move]])[0], :may_have_run? }
  end

  def test_a_deferred_call_without_an_owner_ends_at_the_deadline
    accounts = accounts("nowhere") { define_method(:move) { raise Elah::Entity::Moved, "moved" } }
    Elah.run do
      results = Elah.gather(deadline: 0.05) { |gather| gather.call(:moved, accounts["1"].deferred.move, fallback: nil) }
      assert_instance_of Elah::DeadlineExceeded, results[:moved].error
    end
  end

  def test_many_calls_with_a_deadline
    Elah.run do
      gate = Gate.new
      answers = @accounts.call_many([["1", :deposit, 1], ["2", :wait, gate]], deadline: 0.05)
      assert_instance_of Elah::DeadlineExceeded, answers[1]
    end
  end

  # The search for its owner raised, for all calls of the gather.
  def test_a_deferred_call_that_finds_no_room_has_its_fallback
    accounts = with_config(entities_max: 1) { accounts("crowded") }
    Elah.run do
      gate = Gate.new
      busy = Elah.async { accounts["1"].wait(gate) }
      results = Elah.gather(deadline: 10) do |gather|
        gather.call(:full, accounts["2"].deferred.balance, fallback: :none)
        gather.call(:wrong, accounts["k" * 256].deferred.balance, fallback: :none)
      end
      assert_equal({ full: :none, wrong: :none }, results.to_h)
      assert_instance_of Elah::Overloaded, results[:full].error
      assert_instance_of ArgumentError, results[:wrong].error
      gate << nil
      busy.value
    end
  end

  def test_a_wrong_key_is_the_outcome_of_its_call_also_with_a_deadline
    Elah.run do
      [nil, 10].each do |deadline|
        outcomes = @accounts.call_many([["1", :balance], ["k" * 256, :balance]], deadline: deadline)
        assert_equal [0, ArgumentError], [outcomes[0], outcomes[1].class]
      end
    end
  end

  # The limit that ended one of them was taken for its outcome, and the others were made again.
  def test_a_time_limit_ends_calls_that_look_for_their_owners
    accounts = accounts("lost") { define_method(:move) { raise Elah::Entity::Moved, "moved" } }
    calls = Array.new(3) { |n| [n.to_s, :move] }
    Elah.run do
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.05) { accounts.call_many(calls) } }
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.05) { accounts.call_many(calls, deadline: 60) } }
      outcomes = Elah.timeout(60) { accounts.call_many(calls, deadline: 0.05) }
      assert_equal [Elah::DeadlineExceeded] * 3, outcomes.map(&:class)
    end
  end

  # The time limit was the outcome of the call that waited, and the others ran on.
  def test_a_time_limit_ends_many_calls
    accounts = accounts("limited") { durability :memory }
    gate = Gate.new
    Elah.run do
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.05) { accounts.call_many([["1", :wait, gate], ["2", :deposit, 1]]) }
      end
      assert_equal 0, accounts["2"].balance
    end
  end

  # Outside a loop the limit was the outcome of the call that it met, and the others ran on.
  def test_outside_a_loop_a_time_limit_ends_many_calls
    gate = Gate.new
    assert_raises(Elah::DeadlineExceeded) do
      Elah.timeout(0.05) { @accounts.call_many([["1", :wait, gate], ["2", :deposit, 1]]) }
    end
    assert_equal 0, @accounts["2"].balance
  end

  # What the method made of the time limit or the cancellation was the outcome of its call, and the others ran on.
  def test_an_end_for_which_a_method_raises_another_error_ends_many_calls
    accounts = accounts("wrapping") do
      define_method(:hold) do |gate, is_new|
        gate.pop
      rescue StandardError => e
        is_new ? raise(ArgumentError, "held: #{e.message}") : raise(e, "held: #{e.message}")
      end
    end
    Elah.run do
      [true, false].each do |is_new|
        calls = [["1", :hold, Gate.new, is_new], ["2", :deposit, 1]]
        limited = assert_raises(StandardError) { Elah.timeout(0.01) { accounts.call_many(calls) } }
        cancelled = Elah.async { accounts.call_many(calls) }.cancel.wait.error
        expected = is_new ? [ArgumentError] * 2 : [Elah::DeadlineExceeded, Elah::Cancelled]
        assert_equal expected, [limited, cancelled].map(&:class)
        [limited, cancelled].each { |error| assert_match(/\Aheld: /, error.message) }
        assert_equal 0, accounts["2"].balance
      end
    end
  end

  # Ruby gives the end as the cause of what is raised in an `ensure` block: the first failure ended all calls.
  def test_a_call_that_fails_after_the_end_of_its_fiber_fails_alone
    Elah.run do
      results = nil
      undo = lambda do
        calls = [["1", :deposit, 1], ["2", :deposit, "no number"], ["3", :deposit, 1]]
        results = @accounts.call_many(calls).map { |result| result.is_a?(Exception) ? :failed : :returned }
      end
      ended = lambda do
        Thread::Queue.new.pop
      ensure
        undo.call
      end
      Elah.async(&ended).cancel.wait
      assert_equal %i[returned failed returned], results
      results = nil
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { ended.call } }
      assert_equal %i[returned failed returned], results
    end
  end

  # It was taken for the end of the caller: the results of the other calls were lost, of which some were stored.
  def test_a_stream_that_another_fiber_closes_fails_its_call_alone
    streams = []
    accounts = accounts("reading") do
      define_method(:read) do
        stream, = streams.concat(IO.pipe).last(2)
        Elah.async do
          Fiber.scheduler.yield
          stream.close
        end
        stream.read(1)
      end
    end
    Elah.run do
      [{}, { deadline: 20 }].each.with_index(1) do |options, round|
        replies = accounts.call_many([["1", :deposit, 1], ["2", :read], ["3", :deposit, 1]], **options)
        assert_equal [round, IOError, round], [replies[0], replies[1].class, replies[2]]
      end
    end
  end

  # They ended the others, too, of which some had run.
  def test_an_exception_that_is_no_standard_error_is_the_outcome_of_its_call
    accounts = accounts("abstract") do
      define_method(:later) { raise NotImplementedError }
      define_method(:recurse) { recurse }
      define_method(:leave) { exit }
    end
    calls = [["1", :deposit, 1], ["2", :later], ["3", :recurse], ["4", :leave], ["1", :deposit, 1]]
    expected = [1, NotImplementedError, SystemStackError, SystemExit, 2]
    Elah.run do
      answers = accounts.call_many(calls)
      assert_equal(expected, answers.map { |answer| answer.is_a?(Exception) ? answer.class : answer })
      results = Elah.gather do |gather|
        gather.call(:deposit, accounts["1"].deferred.deposit(1))
        gather.call(:later, accounts["2"].deferred.later, fallback: :failed)
      end
      assert_equal({ deposit: 3, later: :failed }, results.to_h)
    end
  end

  def test_a_deferred_call_can_be_made_alone
    assert_equal 3, @accounts["1"].deferred.deposit(3).call
  end
end

# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../../../test/support/replaced_method"
require_relative "../forecast"

# Erlang's B: against its definition, against published values, and where other forms of it fail.
class ForecastTest < Minitest::Test
  include ReplacedMethod

  # The formula as it is defined, in exact numbers.
  def exact(load, numbers)
    terms = (0..numbers).map { |count| Rational(load)**count / (1..count).inject(1, :*) }
    (terms.last / terms.sum).to_f
  end

  def test_it_is_the_formula
    [[1, 1], [2.5, 4], [10, 10], [38, 50], [75, 100], [300, 120]].each do |load, numbers|
      assert_in_epsilon exact(load.to_r, numbers), RingPools::Forecast.overflow_share(load, numbers), 1e-10
    end
  end

  # Published tables of Erlang B: 1 % of loss with 10, 50 and 100 lines at 4.46, 37.9 and 84.1 erlangs.
  def test_the_published_loads_of_one_percent
    { 10 => 4.46, 50 => 37.9, 100 => 84.1 }.each do |numbers, load|
      assert_in_epsilon load, RingPools::Forecast.load_for(numbers, 0.01), 0.002
    end
  end

  # A pool may have any target between 0 and 1.
  def test_the_load_of_any_target
    [1, 7, 1000, 10_000].product([1e-12, 1e-6, 0.01, 0.5, 0.99, 0.999999]) do |numbers, share|
      load = RingPools::Forecast.load_for(numbers, share)
      assert_in_epsilon share, RingPools::Forecast.overflow_share(load, numbers), 1e-6, "#{numbers} numbers"
    end
    assert_in_epsilon 6740, RingPools::Forecast.load_for(10_000, 1e-300), 1e-4
    assert_in_epsilon 6701, RingPools::Forecast.load_for(10_000, 0.0.next_float), 1e-4
    assert_equal 0.0, RingPools::Forecast.load_for(0, 0.01)
  end

  # It was a bisection that passed 60 times over all numbers: a look at a pool of 10,000 held the loop for 250 ms,
  # longer than a bulk request waits.
  def test_a_load_is_found_in_few_passes_over_the_numbers
    passes = 0
    share = RingPools::Forecast.method(:overflow_share).unbind.bind(RingPools::Forecast)
    counted = ->(*arguments) { (passes += 1) && share.call(*arguments) }
    [1e-6, 0.01, 0.99].each do |target|
      passes = 0
      replacing(RingPools::Forecast, :overflow_share, counted) { RingPools::Forecast.load_for(10_000, target) }
      assert_operator passes, :<=, 10
    end
  end

  def test_huge_and_empty_pools
    assert_equal 0.0, RingPools::Forecast.overflow_share(0, 10)
    assert_equal 1.0, RingPools::Forecast.overflow_share(5, 0)
    assert_equal 0.0, RingPools::Forecast.overflow_share(1, 10_000)
    assert_in_epsilon 0.9, RingPools::Forecast.overflow_share(100_000, 10_000), 0.001
  end

  def test_the_numbers_that_are_needed
    needed = RingPools::Forecast.numbers_for(38, 0.01)
    assert_operator RingPools::Forecast.overflow_share(38, needed), :<=, 0.01
    assert_operator RingPools::Forecast.overflow_share(38, needed - 1), :>, 0.01
    assert_equal 0, RingPools::Forecast.numbers_for(0, 0.01)
    assert_nil RingPools::Forecast.numbers_for(200_000, 0.01)
  end

  def test_the_sentence
    report = RingPools::Forecast.report(rate: 200 / 3600.0, hold_seconds: 180, numbers: 10, target: 0.01)
    assert_equal "At this rate 21.46 % of the allocations overflow; 8 more numbers bring it to 1 %.", report[:sentence]
    report = RingPools::Forecast.report(rate: 0, hold_seconds: 180, numbers: 10, target: 0.01)
    assert_equal "At this rate 0 % of the allocations overflow.", report[:sentence]
  end
end

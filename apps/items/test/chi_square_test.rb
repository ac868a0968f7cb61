# frozen_string_literal: true

require_relative "uniformity_checks"

# The distribution against published tables, and the power that the checks of uniformity claim.
class ItemsChiSquareTest < Minitest::Test
  def test_critical_values_of_published_tables
    { [1, 0.05] => 3.841, [10, 0.01] => 23.209, [63, 0.001] => 103.442,
      [99, 0.05] => 123.225 }.each do |(degrees, significance), value|
      assert_in_delta value, distribution(degrees).critical(significance), 0.001
    end
    assert_equal 1.0, distribution(5).p_value(0)
  end

  def test_statistic
    assert_in_delta 0.8 + 1.25, Items::Uniformity::ChiSquare.statistic([24, 25], [20, Rational(20)]), 1e-12
  end

  # Of the noncentral distribution with 4 degrees: half a noncentrality of nothing is the central one.
  def test_power
    assert_in_delta 0.05, distribution(4).power(0, 0.05), 1e-6
    assert_in_delta 0.8, distribution(1).power(7.849, 0.05), 0.001, "the textbook's (1.960 + 0.842)²"
    found = distribution(63).noncentrality(0.99, 0.001)
    assert_in_delta 0.99, distribution(63).power(found, 0.001), 1e-6
  end

  def test_power_of_the_uniformity_checks
    power = UniformityChecks::DISTRIBUTION.power(UniformityChecks::DRAWS * UniformityChecks::BIAS**2,
                                                 UniformityChecks::SIGNIFICANCE)
    assert_operator power, :>, 0.999
  end

  private

  def distribution(degrees) = Items::Uniformity::ChiSquare.new(degrees)
end

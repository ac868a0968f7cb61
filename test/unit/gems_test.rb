# frozen_string_literal: true

require "test_helper"
require "support/gems"
require "support/replaced_method"

# Which gems a test can have.
class GemsTest < Minitest::Test
  include ReplacedMethod

  def test_a_gem_that_is_there_is_not_missing
    assert_nil Gems.missing("minitest")
  end

  def test_a_gem_is_missing_if_another_that_it_needs_is
    specification = Gem::Specification.new("needy", "1.0") { |gem| gem.add_dependency("not_to_be_had", "~> 2.0") }
    find = ->(name, *) { name == "needy" ? specification : raise(Gem::MissingSpecError.new(name, ">= 0")) }
    replacing(Gem::Specification, :find_by_name, find) do
      assert_equal "there is no gem not_to_be_had, which needy needs, for Ruby #{RUBY_VERSION} here",
                   Gems.missing("needy")
      assert_equal "there is no gem other for Ruby #{RUBY_VERSION} here", Gems.missing("other")
    end
  end
end

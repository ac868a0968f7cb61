# frozen_string_literal: true

require "minitest"

# Which gems this Ruby has. A Debian has none of some frameworks, and compiles no gem for a Ruby that is not its own.
module Gems
  class << self
    # @return [String, nil] why a gem cannot be loaded, looked up without loading it
    def missing(name, *versions, needed_by: nil)
      specification = Gem::Specification.find_by_name(name, *versions)
      specification.runtime_dependencies.each do |dependency|
        reason = missing(dependency.name, dependency.requirement, needed_by: name) and return reason
      end
      nil
    rescue Gem::MissingSpecError
      "there is no gem #{name}#{", which #{needed_by} needs," if needed_by} for Ruby #{RUBY_VERSION} here"
    end

    # For `return unless Gems.present?("pg")` at the top of a file of tests: false if one is missing, and the file is
    # one skipped test.
    def present?(*names)
      reason = names.filter_map { |name| missing(name) }.first or return true
      file = caller_locations(1, 1).first.path
      Class.new(Minitest::Test) do
        define_singleton_method(:name) { File.basename(file, ".rb") }
        define_method(:test_needs_a_gem) { skip reason }
      end
      false
    end
  end
end

# frozen_string_literal: true

# The rules about several parameters at once.
module Elah
  module Framework
    module Validators
      # A rule about which of its parameters are present.
      class GroupValidator < Validator
        def _check(params, errors, _endpoint = nil)
          @scope.each(params) do |values, indices|
            break if errors.size >= FAULTS_MAX

            given = values.is_a?(Hash) ? @_names.select { |name| values.key?(name) } : []
            concerned, message = verdict(given)
            next unless message

            errors << _fault_error(concerned.map { |name| @scope.full_name(name, indices) }, message)
          end
        end
      end

      # `mutually_exclusive :a, :b`: at most one.
      class MutualExclusionValidator < GroupValidator
        def verdict(given) = given.size > 1 ? [given, :mutual_exclusion] : nil
      end

      # `exactly_one_of :a, :b`.
      class ExactlyOneOfValidator < GroupValidator
        def verdict(given)
          return if given.size == 1

          given.empty? ? [_names, :exactly_one] : [given, :mutual_exclusion]
        end
      end

      # `at_least_one_of :a, :b`.
      class AtLeastOneOfValidator < GroupValidator
        def verdict(given) = given.empty? ? [_names, :at_least_one] : nil
      end

      # `all_or_none_of :a, :b`.
      class AllOrNoneOfValidator < GroupValidator
        def verdict(given) = given.empty? || given.size == _names.size ? nil : [_names, :all_or_none]
      end
    end
  end
end

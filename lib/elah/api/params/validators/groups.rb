# frozen_string_literal: true

# The rules about several parameters at once.
module Elah
  class API
    module Validators
      # A rule about which of its parameters are present.
      class GroupValidator < Validator
        def check(params, errors, _endpoint = nil)
          @scope.each(params) do |values, indices|
            break if errors.size >= FAULTS_MAX

            given = values.is_a?(Hash) ? @names.select { |name| values.key?(name) } : []
            concerned, message = verdict(given)
            next unless message

            errors << fault_error(concerned.map { |name| @scope.full_name(name, indices) }, message)
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

          given.empty? ? [names, :exactly_one] : [given, :mutual_exclusion]
        end
      end

      # `at_least_one_of :a, :b`.
      class AtLeastOneOfValidator < GroupValidator
        def verdict(given) = given.empty? ? [names, :at_least_one] : nil
      end

      # `all_or_none_of :a, :b`.
      class AllOrNoneOfValidator < GroupValidator
        def verdict(given) = given.empty? || given.size == names.size ? nil : [names, :all_or_none]
      end
    end
  end
end

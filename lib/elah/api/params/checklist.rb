# frozen_string_literal: true

# The rules that apply to a request: those of optional parameters only when it has one of them.
module Elah
  module Framework
    # The rules of an endpoint, in their order.
    class Checklist
      # Built-in rules that have no effect where their optional parameters are missing. A default applies to missing ones, and an app's own rule may
      # do anything.
      SKIPPED = (OwnRule::BUILT_IN - [Validators::DefaultValidator]).freeze

      # Consecutive rules. names: their parameters, when the rules apply only to requests that have them
      Section = Struct.new(:validators, :names)

      private_constant :SKIPPED, :Section

      # @param validators [Array<Validator>]
      def initialize(validators)
        @sections = validators.chunk { |validator| skipped_without_names?(validator) }.map do |skipped, rules|
          Section.new(rules.freeze, skipped ? rules.flat_map(&:_names).uniq.freeze : nil)
        end
      end

      # @param params [Params] of the request; defaults and types are set in it
      # @param endpoint [Endpoint] the endpoint, for the app's own rules
      # @return [Array<Exceptions::Validation>] the faults, in the order of the rules, up to one that ends the validation
      def faults(params, endpoint)
        errors = []
        @sections.each do |section|
          validators_for(params, section).each do |validator|
            count = errors.size
            validator._check(params, errors, endpoint)
            return errors if errors.size > count && validator.fail_fast?
          end
        end
        errors
      end

      private

      def skipped_without_names?(validator) = SKIPPED.include?(validator.class) && validator._idle_without_names?

      # No rule of a section with names adds a parameter, so that one look is enough for all of them.
      def validators_for(params, section)
        return section.validators unless section.names

        given = params.keys & section.names
        return given if given.empty?

        section.validators.select { |validator| validator._names.intersect?(given) }
      end
    end
  end
end

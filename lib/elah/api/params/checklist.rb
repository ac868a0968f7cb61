# frozen_string_literal: true

# Owns which rules of an endpoint a request is held to: those of optional parameters only when it has one of them.
module Elah
  class API
    # The rules of an endpoint, in their order.
    class Checklist
      # Built-in rules that say and do nothing where their optional parameters are missing. A default is for just those, and a rule of the app's
      # own may do anything.
      SKIPPED = (OwnRule::BUILT_IN - [Validators::DefaultValidator]).freeze

      # Rules in a row. names: of their parameters, when the rules are for requests alone that have them
      Section = Struct.new(:validators, :names)

      private_constant :SKIPPED, :Section

      # @param validators [Array<Validator>]
      def initialize(validators)
        @sections = validators.chunk { |validator| skipped_without_names?(validator) }.map do |skipped, rules|
          Section.new(rules.freeze, skipped ? rules.flat_map(&:names).uniq.freeze : nil)
        end
      end

      # @param params [Params] of the request; defaults and types are set in it
      # @param endpoint [Endpoint] that rules of the app's own may ask about the request
      # @return [Array<Exceptions::Validation>] what is wrong, in the order of the rules, up to what ends the validation
      def faults(params, endpoint)
        errors = []
        @sections.each do |section|
          validators_for(params, section).each do |validator|
            count = errors.size
            validator.check(params, errors, endpoint)
            return errors if errors.size > count && validator.fail_fast?
          end
        end
        errors
      end

      private

      def skipped_without_names?(validator) = SKIPPED.include?(validator.class) && validator.idle_without_names?

      # No rule of a section with names adds a parameter, so that one look is enough for all of them.
      def validators_for(params, section)
        return section.validators unless section.names

        given = params.keys & section.names
        return given if given.empty?

        section.validators.select { |validator| validator.names.intersect?(given) }
      end
    end
  end
end

# frozen_string_literal: true

# Owns the values of parameters that are missing or null.
module Elah
  class API
    module Validators
      # `default:`, a value or a Proc that makes one.
      class DefaultValidator < Validator
        def validate(params, _errors)
          @scope.each(params) do |values, _indices|
            next unless values.is_a?(Hash)

            @names.each { |name| values[name] = default if values[name].nil? }
          end
        end

        private

        # A mutable default is copied, so that a handler cannot change it for the next request.
        def default
          return @option.call if @option.is_a?(Proc)

          @option.frozen? ? @option : @option.dup
        end
      end

      # `as:` renames in `declared`; nothing to check.
      class AsValidator < Validator
        def validate(_params, _errors) = nil
      end
    end
  end
end

# frozen_string_literal: true

# The default values of parameters that are missing or null.
module Elah
  module Framework
    module Validators
      # `default:`, a value or a Proc that makes one.
      class DefaultValidator < Validator
        def _check(params, _errors, _endpoint = nil)
          return fill(params) if @_is_at_root

          @scope.each(params) { |values, _indices| fill(values) if values.is_a?(Hash) }
        end

        def _idle_without_names? = @_is_at_root && !@option.is_a?(Proc)

        private

        def fill(values)
          @_names.each { |name| values[name] = default if values[name].nil? }
        end

        def default = @option.is_a?(Proc) ? @option.call : copy(@option)

        # A mutable default is copied with what is in it, so that a handler cannot change it for the next request.
        def copy(value)
          case value
          when Hash then value.dup.transform_values! { |element| copy(element) }
          when Array then value.dup.map! { |element| copy(element) }
          when Set then value.class.new(value.map { |element| copy(element) })
          else value.frozen? ? value : value.dup
          end
        end
      end

      # `as:` renames in `declared`; nothing to check.
      class AsValidator < Validator
        def _check(_params, _errors, _endpoint = nil) = nil
        def _idle_without_names? = true
      end
    end
  end
end

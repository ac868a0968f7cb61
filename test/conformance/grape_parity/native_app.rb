# frozen_string_literal: true

# Owns the app of the native parity test: every API of apis.rb below a path with its name.
API_BASE = Elah::API
API_EXCEPTIONS = Elah::API::Exceptions
API_VALIDATOR = Elah::API::Validator
API_SHARED_PARAMETERS = Elah::API::SharedParameters
require_relative "apis"

# All of them in one.
class NativeParity < Elah::API
  Parity.constants.map { |name| Parity.const_get(name) }.each do |api|
    mount api => "/#{api.name.split('::').last}" if api.is_a?(Class) && api < Elah::API
  end
end

run NativeParity

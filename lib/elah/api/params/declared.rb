# frozen_string_literal: true

# Owns `declared(params)`: the part of the parameters that the endpoint declares.
require "set"

module Elah
  class API
    # Filters parameters by the declaration of an endpoint. One per endpoint, made at boot.
    class DeclaredFilter
      # @param documentation [Hash{String=>Hash}] of {Parameters}, for what is put in place of a missing group
      # @param renamed [Hash{Array<String>=>String}]
      def initialize(documentation, renamed)
        @documentation = documentation
        @renamed = renamed
        @absent = Hash.new { |hash, path| hash[path] = absent_kind(path) }
      end

      # @param params [Params, Array, Hash]
      # @param declaration [Array] names, and hashes of name => nested array
      # @param include_missing [Boolean]
      # @param path [Array<String>] where the params are
      # @return [Params, Array]
      def filter(params, declaration, include_missing, path = [])
        return params.map { |item| filter(item || {}, declaration, include_missing, path) } if params.is_a?(Array)

        declaration.each_with_object(Params.new) do |declared, kept|
          name, nested = declared.is_a?(Hash) ? declared.first : [declared, nil]
          next unless include_missing || params.key?(name)

          inner_path = path + [name.to_s]
          kept[@renamed[inner_path] || name] =
            nested ? group(params[name], nested, include_missing, inner_path) : params[name] || absent(inner_path, params[name])
        end
      end

      private

      def group(value, nested, include_missing, path)
        return filter(value, nested, include_missing, path) if value.respond_to?(:any?) && value.any?

        kind = @absent[path]
        kind ? kind.new : filter(value || Params.new, nested, include_missing, path)
      end

      def absent(path, value)
        kind = @absent[path]
        kind ? kind.new : value
      end

      # What stands for a missing parameter: an empty list for a list, an empty Hash for a Hash that declares nothing.
      def absent_kind(path)
        key = path.drop(1).reduce(path.first) { |name, element| "#{name}[#{element}]" }
        type = @documentation.dig(key, :type)
        return unless type

        if type == "Hash" then @documentation.keys.none? { |name| name != key && name.start_with?(key) } ? Params : nil
        elsif type == "Array" || (type.start_with?("[") && !type.include?(",")) then Array
        elsif type == "Set" || type.start_with?("#<Set") then Set
        end
      end
    end
  end
end

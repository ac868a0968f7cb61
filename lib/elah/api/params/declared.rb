# frozen_string_literal: true

# `declared(params)`: the declared part of the parameters.
require_relative "../standard_library"

module Elah
  module Framework
    # Filters parameters by a declaration that is fixed at boot.
    class DeclaredFilter
      # A declared parameter. name: in the request · shown_name: in the result · absent: the class whose new instance stands
      # for a missing value, or nil · group: the {DeclaredFilter} of the parameters in it, or nil
      Entry = Struct.new(:name, :shown_name, :absent, :group)
      private_constant :Entry

      # @param declaration [Array] names, and hashes of name => nested array
      # @param documentation [Hash{String=>Hash}] of {Parameters}, for the replacement of missing values
      # @param renamed [Hash{Array<String>=>String}] of {Parameters}
      # @param path [Array<String>] where the declaration is
      def initialize(declaration, documentation, renamed, path = [])
        @entries = declaration.map do |declared|
          name, nested = declared.is_a?(Hash) ? declared.first : [declared, nil]
          inner_path = path + [name.to_s]
          group = nested && DeclaredFilter.new(nested, documentation, renamed, inner_path)
          Entry.new(name.to_s.freeze, renamed[inner_path] || name.to_s.freeze, absent(inner_path, documentation), group)
        end
      end

      # @param params [Params, Array<Object>] an element that is no Hash has no parameters
      # @param include_missing [Boolean] whether declared parameters that are missing are in the result
      # @return [Params, Array<Params>]
      def filter(params, include_missing)
        return params.map { |item| filter(item, include_missing) } if params.is_a?(Array)

        params = {} unless params.is_a?(Hash)
        @entries.each_with_object(Params.new) do |entry, kept|
          next unless include_missing || params.key?(entry.name)

          kept[entry.shown_name] = value(entry, params[entry.name], include_missing)
        end
      end

      private

      def value(entry, given, include_missing)
        return given || entry.absent&.new || given unless entry.group
        return entry.group.filter(given, include_missing) if given.respond_to?(:any?) && given.any?

        entry.absent&.new || entry.group.filter(given || Params.new, include_missing)
      end

      # An empty list replaces a missing list, an empty Hash a missing Hash that declares nothing.
      def absent(path, documentation)
        name = path.drop(1).reduce(path.first) { |outer, element| "#{outer}[#{element}]" }
        type = documentation.dig(name, :type) or return
        return Array if type == "Array" || (type.start_with?("[") && !type.include?(","))
        return Set if type == "Set" || type.start_with?("#<Set")

        Params if type == "Hash" && documentation.keys.none? { |other| other != name && other.start_with?(name) }
      end
    end
  end
end

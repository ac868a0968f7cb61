# frozen_string_literal: true

# The declarations of one `params` block.
module Elah
  module Framework
    # The rules, the documentation and the declared names of a `params` block.
    class Parameters
      # @return [Array<Validator>] in the order in which they run
      attr_reader :validators
      # @return [Hash{String=>Hash}] by full name: required, type, desc, default, values, documentation
      attr_reader :documentation
      # @return [Hash{Array<String>=>String}] the names given by `as:`, by path
      attr_reader :renamed
      # @return [Hash{Symbol=>Proc}] the shared blocks that `use` finds
      attr_reader :named

      # @param named [Hash{Symbol=>Proc}]
      def initialize(named: {}, &block)
        @named = named
        @validators = []
        @documentation = {}
        @renamed = {}
        @scope = Scope.new(self, &block)
      end

      # @return [Array] names, and hashes of name => nested array
      def declared = @scope.declared

      # @param full_name [String]
      # @param entry [Hash]
      def document(full_name, entry) = (@documentation[full_name] ||= {}).merge!(entry)

      # @param path [Array<String>]
      # @param name [Symbol, String]
      def rename(path, name) = @renamed[path] = name.to_s
    end
  end
end

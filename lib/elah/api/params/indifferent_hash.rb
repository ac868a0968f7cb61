# frozen_string_literal: true

# The hash of `params`: string keys inside, symbols allowed.
module Elah
  module Framework
    # A Hash with string keys that symbols find too. Hashes put into it become of the same class. It has the methods of ActiveSupport's
    # HashWithIndifferentAccess: those that ActiveSupport adds to every Hash would compare symbols with the strings.
    class Params < Hash
      alias adopt replace
      private :adopt

      # @param hash [Hash{String=>Object}] a parser's result: its keys are strings, and no other code uses it
      # @return [Params]
      def self.from(hash)
        new.__send__(:adopt, hash).tap { |params| params.transform_values! { |value| wrap(value) } }
      end

      # @param hash [Hash{String=>String}]
      # @return [Params]
      def self.flat(hash) = new.__send__(:adopt, hash)

      # Makes hashes inside a value indifferent. Arrays that parsers made are changed in place.
      #
      # @param value [Object] a parser's result
      # @return [Object]
      def self.wrap(value)
        case value
        when Params then value
        when Hash then new.merge!(value)
        when Array then value.frozen? ? value.map { |item| wrap(item) } : value.map! { |item| wrap(item) }
        else value
        end
      end

      def [](key) = super(Symbol === key ? key.name : key)

      def []=(key, value)
        super(Symbol === key ? key.name : key, Hash === value || Array === value ? Params.wrap(value) : value)
      end
      alias store []=

      def key?(key) = super(Symbol === key ? key.name : key)
      alias has_key? key?
      alias include? key?
      alias member? key?

      def fetch(key, *default, &block) = super(Symbol === key ? key.name : key, *default, &block)
      def delete(key, &block) = super(Symbol === key ? key.name : key, &block)

      def dig(key, *rest)
        value = self[key]
        rest.empty? || value.nil? ? value : value.dig(*rest)
      end

      def values_at(*keys) = keys.map { |key| self[key] }
      def fetch_values(*keys, &block) = keys.map { |key| fetch(key, &block) }
      def assoc(key) = super(Symbol === key ? key.name : key)

      def merge!(*others)
        others.each do |other|
          other.each_pair do |key, value|
            value = yield(Symbol === key ? key.name : key, self[key], value) if block_given? && key?(key)
            self[key] = value
          end
        end
        self
      end
      alias update merge!

      def merge(*others, &block) = dup.merge!(*others, &block)
      def replace(other) = clear.merge!(other)

      # The parameters over those of `other`.
      #
      # @param other [Hash{String, Symbol=>Object}]
      # @return [Params]
      def reverse_merge(other) = Params.new.merge!(other, self)
      alias with_defaults reverse_merge

      def slice(*keys) = keys.each_with_object(Params.new) { |key, part| part[key] = self[key] if key?(key) }
      def except(*keys) = dup.tap { |rest| keys.each { |key| rest.delete(key) } }
      alias without except
      alias excluding except

      # Keeps these parameters.
      #
      # @param keys [Array<String, Symbol>]
      # @return [Params] the others
      def slice!(*keys) = except(*keys).each_key { |key| delete(key) }

      def select(&block) = block ? dup.tap { |kept| kept.select!(&block) } : super
      alias filter select
      def reject(&block) = block ? dup.tap { |kept| kept.reject!(&block) } : super
      def compact = dup.tap(&:compact!)
      def transform_values(&block) = block ? dup.tap { |changed| changed.transform_values!(&block) } : super

      def transform_keys(*names, &block)
        return super unless block || names.any?

        Params.new.merge!(super(*names.map { |renamed| Params.new.merge!(renamed) }, &block))
      end

      def transform_keys!(*names, &block) = block || names.any? ? replace(transform_keys(*names, &block)) : super

      # Merges nested hashes into nested hashes.
      #
      # @param other [Hash{String, Symbol=>Object}]
      # @yieldparam key [String]
      # @yieldparam mine [Object]
      # @yieldparam theirs [Object]
      # @yieldreturn [Object] the value for a key that both have; without a block that of `other`
      # @return [self]
      def deep_merge!(other, &block)
        merge!(other) do |key, mine, theirs|
          next mine.deep_merge(theirs, &block) if mine.is_a?(Params) && theirs.is_a?(Hash)

          block ? yield(key, mine, theirs) : theirs
        end
      end

      # {#deep_merge!} of a copy.
      #
      # @param other [Hash{String, Symbol=>Object}]
      # @yieldparam key [String]
      # @yieldparam mine [Object]
      # @yieldparam theirs [Object]
      # @yieldreturn [Object]
      # @return [Params]
      def deep_merge(other, &block) = dup.deep_merge!(other, &block)

      # @overload to_h
      #   @return [Hash{String=>Object}] plain hashes throughout
      # @overload to_h(&block)
      #   @yieldparam key [String]
      #   @yieldparam value [Object]
      #   @yieldreturn [Array(Object, Object)]
      #   @return [Hash{Object=>Object}]
      def to_h(&block) = block ? super : plain(:itself)
      alias to_hash to_h

      # @return [Hash{Symbol=>Object}] the top level with symbols
      def symbolize_keys = each_with_object({}) { |(key, value), all| all[key.to_sym] = value }
      alias to_options symbolize_keys

      # @return [Hash{Symbol=>Object}] plain hashes with symbols throughout
      def deep_symbolize_keys = plain(:to_sym)
      def stringify_keys = dup
      alias deep_stringify_keys stringify_keys
      def with_indifferent_access = dup
      def extractable_options? = true

      private

      def plain(naming)
        each_with_object({}) { |(key, value), all| all[key.public_send(naming)] = plain_value(value, naming) }
      end

      def plain_value(value, naming)
        case value
        when Params then value.__send__(:plain, naming)
        when Array then value.map { |item| plain_value(item, naming) }
        else value
        end
      end
    end
  end
end

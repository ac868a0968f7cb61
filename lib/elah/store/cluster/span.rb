# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # A range of keys, from one that it includes to one that it excludes. An index of the database can walk it.
      class Span
        # Above every key.
        HIGHEST = ("\xff".b * (Limits::KEY_BYTES_MAX + 1)).freeze

        # @return [String]
        attr_reader :from

        # @return [String]
        attr_reader :til

        # @param conditions [Array<String, nil>] `prefix`, `from`, `to` and `after` of {Interface::Table#range}
        # @param is_reverse [Boolean]
        # @return [Span]
        # @raise [InvalidKey]
        def self.of(conditions, is_reverse)
          prefix, from, to, after = conditions.map { |key| key && Limits.bound(key) }
          lowest = [from, prefix, (after && "#{after}\0" unless is_reverse)]
          highest = [to, (prefix && successor(prefix)), (after if is_reverse)]
          new(lowest.compact.max || "".b, highest.compact.min || HIGHEST)
        end

        # @param key [String]
        # @return [Span] of this key alone
        def self.only(key) = new(key, "#{key}\0")

        # The first String after all those with a prefix; nil if there is none.
        def self.successor(prefix)
          kept = prefix.sub(/\xff+\z/n, "")
          kept.empty? ? nil : kept.tap { |bytes| bytes.setbyte(-1, bytes.getbyte(-1) + 1) }
        end
        private_class_method :successor

        def initialize(from, til)
          @from = from
          @til = til
        end

        # @return [Boolean]
        def empty? = @from >= @til

        # @return [Boolean]
        def cover?(key) = key >= @from && key < @til

        # @return [Boolean] whether it has room for one key alone
        def one? = @til.bytesize == @from.bytesize + 1 && @til == "#{@from}\0"

        # The part up to the last key of a page.
        #
        # @return [Span]
        def up_to(key, is_reverse) = is_reverse ? Span.new(key, @til) : Span.new(@from, "#{key}\0")
      end

      private_constant :Span
    end
  end
end

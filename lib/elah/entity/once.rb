# frozen_string_literal: true

require "digest/sha2"

module Elah
  class Entity
    # The results of one entity's calls with an idempotency key. A result is a row of its own, written with the changes of its call, so both are
    # stored or neither is. The row expires in the store.
    class Once
      # Maximum length of an idempotency key, in bytes.
      KEY_BYTES_MAX = 200
      # Default and maximum of the time for which a result is stored.
      SECONDS = 86_400
      SECONDS_MAX = 30 * 86_400
      # Maximum size of a stored result, in bytes as `Marshal` writes it.
      RESULT_BYTES_MAX = 65_536

      DIGEST_BYTES = 32
      # Time between two counts of an entity's results while it stores as many as it may.
      RECOUNT_SECONDS = 1
      private_constant :DIGEST_BYTES, :RECOUNT_SECONDS

      # The name under which calls of {Reference#once} travel. It is no Symbol, so nothing that an app takes from a request names it.
      class Name
        # @return [Name] the same object in every process
        def self._load(_bytes) = NAME

        # @return [String]
        def _dump(_level) = ""

        # @return [String]
        def to_s = "once"
        alias inspect to_s
      end
      NAME = Name.new.freeze

      # @param collection [Collection]
      # @param key [String] of the entity
      # @param state [Elah::Shards::State]
      def initialize(collection, key, state)
        @collection = collection
        @commits = collection.commits
        @key = key
        @state = state
        @prefix = collection.prefix_of(key)
        @rows = Index.open(state, collection.once_number)
        @unsettled = {} # reads do not wait for the disk, so rows that may not be there yet are kept here, with their batch
        @newest = nil
        @count = count
        @counted_at = Concurrency.now
      end

      # @param idempotency_key [String]
      # @param ttl [Numeric]
      # @param name [Symbol]
      # @param arguments [Array]
      # @yieldreturn [Object] the result of the call, when it was not made before
      # @return [Object] the result
      # @raise [IdempotencyKeyReused, Overloaded, NotSerializable]
      def result(idempotency_key, ttl, name, arguments)
        forget_settled
        digest = Arguments.digest(name, arguments)
        row = @unsettled[idempotency_key]&.first || @rows.get_at_once(@prefix + idempotency_key)
        return result_of(row, digest, idempotency_key, name) if row

        check_room
        result = yield # it may have a method `tap` of its own
        write(idempotency_key, ttl, digest + dump(result, name))
        result
      end

      private

      def write(idempotency_key, ttl, row)
        @rows.put(@prefix + idempotency_key, row, ttl: ttl)
        @unsettled[idempotency_key] = @newest = [row, nil]
        @count += 1
      end

      # The batch of a row is known when its call has ended.
      def forget_settled
        return if @unsettled.empty?

        @newest[1] ||= @state.last_batch
        settled = @commits.refresh
        @unsettled.shift while @unsettled.any? && @unsettled.first[1][1] <= settled
      end

      def result_of(row, digest, idempotency_key, name)
        return load(row.byteslice(DIGEST_BYTES..), name) if row.start_with?(digest)

        raise IdempotencyKeyReused, "The idempotency key #{Text.utf8(idempotency_key)} belongs to another call of #{@collection.name}[" \
                                    "#{Text.utf8(@key)}]: use a new key for another method or other arguments."
      end

      def dump(result, name)
        bytes = Marshal.dump(result)
        return bytes if bytes.bytesize <= RESULT_BYTES_MAX

        raise Store::TooLarge, "The result of #{name} has #{bytes.bytesize} bytes; once stores at most #{RESULT_BYTES_MAX}."
      rescue TypeError => e
        raise @collection.not_serializable(name, Shards::NotCopied.new("its result (#{result.class}) cannot be copied: #{e.message}"))
      end

      def load(bytes, name)
        Marshal.load(bytes)
      rescue TypeError, ArgumentError => e
        raise @collection.not_serializable(name, Shards::NotCopied.new("its stored result cannot be read: #{e.message}"))
      end

      def check_room
        return if @count < @collection.once_max

        recount if @counted_at + RECOUNT_SECONDS <= Concurrency.now
        return if @count < @collection.once_max

        raise Overloaded, "#{@collection.name}[#{Text.utf8(@key)}] stores #{@count} results of once already: use a shorter ttl, or more entities."
      end

      # Expired results are no longer counted.
      def recount
        @counted_at = Concurrency.now
        @count = count
      end

      # Waits for the disk until all rows are there.
      def count = @rows.each(prefix: @prefix, batch: 100).count

      # A digest of a call's method and arguments. Equal ones have the same, whichever objects they share and whatever the order of a Hash or a Set.
      # Objects of other classes than these are equal if `Marshal` writes the same bytes.
      module Arguments
        # Values nested deeper are written by `Marshal`, which also writes circular ones.
        DEPTH_MAX = 32
        # Ruby may lack these classes, or load them later.
        SETS = ->(value) { defined?(::Set) && value.is_a?(::Set) }
        DATA = ->(value) { defined?(::Data) && value.is_a?(::Data) }
        # Classes of an app may have methods of these names.
        CLASS = ::Kernel.instance_method(:class)
        FIELDS = [::Struct, *(::Data if defined?(::Data))].to_h { |type| [type, type.instance_method(:to_h)] }.freeze
        private_constant :DEPTH_MAX, :SETS, :DATA, :CLASS, :FIELDS

        class << self
          # @return [String]
          def digest(name, arguments) = Digest::SHA256.digest(text([name, arguments], DEPTH_MAX))

          private

          def text(value, depth)
            case value
            when nil, true, false, Integer, Float then "#{value.inspect};"
            when String then "s#{value.bytesize}:#{value.b}".b
            when Symbol then "y#{value.name.bytesize}:#{value.name.b}".b
            when Time then "i#{value.to_r};"
            when Array, Hash, Struct, Range, SETS, DATA then depth.zero? ? Marshal.dump(value) : parts(value, depth - 1)
            else "m#{Marshal.dump(value)}".b
            end
          end

          def parts(value, depth)
            case value
            when Array, Hash then collection(value, depth)
            when Range then "r#{collection([value.begin, value.end, value.exclude_end?], depth)}"
            when SETS then "e#{collection([class_name(value), value.to_h { |part| [part, true] }], depth)}"
            else value.respond_to?(:marshal_dump) ? Marshal.dump(value) : "o#{collection([class_name(value), fields(value)], depth)}"
            end
          end

          def class_name(value) = CLASS.bind_call(value).name

          def fields(value) = FIELDS.find { |type, _| type === value }.last.bind_call(value)

          def collection(value, depth)
            parts = value.map { |part| text(part, depth) }
            parts.sort! if value.is_a?(Hash)
            "#{value.is_a?(Hash) ? 'h' : 'a'}#{parts.size}:#{parts.join}".b
          end
        end
      end

      # Makes calls under an idempotency key; stands in for the collection in a reference.
      class Calls
        # @param collection [Collection]
        # @param idempotency_key [String]
        # @param ttl [Numeric]
        # @raise [IdempotencyKeyInvalid, ArgumentError]
        def initialize(collection, idempotency_key, ttl)
          @collection = collection
          @idempotency_key = check_key(idempotency_key)
          @ttl = check_ttl(ttl)
        end

        # @return [String]
        def name = @collection.name

        # As {Collection#call}.
        def call(key, name, arguments)
          @collection.call(key, NAME, with_key(name, arguments))
        rescue NotSerializable
          @collection.check_arguments(name, arguments) # raises with the method's own name
          raise
        end

        # @return [Reference]
        def deferred(key) = @collection.deferred(key, self)

        # @return [DeferredCall]
        def defer(key, name, arguments) = @collection.defer(key, NAME, with_key(name, arguments))

        private

        def with_key(name, arguments) = [@idempotency_key, @ttl, name, *arguments]

        def check_key(key)
          refuse("An idempotency key is a String", key) unless key.nil? || key.is_a?(String)
          return key.b.freeze if key && (1..KEY_BYTES_MAX).cover?(key.bytesize)

          raise IdempotencyKeyInvalid, "The idempotency key must have 1 to #{KEY_BYTES_MAX} bytes, not #{key ? key.bytesize : 'none'}."
        end

        def check_ttl(ttl)
          return ttl if ttl.is_a?(Numeric) && ttl.real? && ttl.positive? && ttl <= SECONDS_MAX

          refuse("ttl: must be above 0 and at most #{SECONDS_MAX} seconds", ttl)
        end

        def refuse(rule, value) = raise(ArgumentError, "#{rule}, not #{value.inspect[0, 64]}.")
      end
    end
  end
end

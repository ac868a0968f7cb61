# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The limits of keys, values and names, which are those of a store in a folder.
      module Limits
        KEY_BYTES_MAX = 480
        VALUE_BYTES_MAX = 64 * 1024**2
        NAME_BYTES_MAX = 255
        # Reads and writes of one transaction.
        OPERATIONS_MAX = 100_000
        INTEGERS = (-(2**63)...(2**63)).freeze
        POSITIONS = (0...(2**64)).freeze

        module_function

        # @return [String] binary
        # @raise [InvalidKey]
        # @raise [TypeError]
        def key(key)
          bytes = string(key)
          raise InvalidKey, "A key is empty; it must have 1 to #{KEY_BYTES_MAX} bytes." if bytes.empty?

          bound(bytes)
        end

        # @return [String] binary; the end of a range may be empty
        # @raise [InvalidKey]
        # @raise [TypeError]
        def bound(key)
          bytes = string(key)
          return bytes if bytes.bytesize <= KEY_BYTES_MAX

          raise InvalidKey, "A key of #{bytes.bytesize} bytes is too long; it may have up to #{KEY_BYTES_MAX}."
        end

        # @return [String] binary
        # @raise [TooLarge]
        # @raise [TypeError]
        def value(value)
          bytes = string(value)
          return bytes if bytes.bytesize <= VALUE_BYTES_MAX

          raise TooLarge, "A value of #{bytes.bytesize} bytes is too long; it may have up to #{VALUE_BYTES_MAX}."
        end

        # @return [String] in UTF-8
        # @raise [InvalidKey]
        # @raise [TypeError]
        def name(name)
          text = String.new(string(name), encoding: Encoding::UTF_8)
          unless text.bytesize.between?(1, NAME_BYTES_MAX)
            raise InvalidKey, "The name of a table or counter has #{text.bytesize} bytes; it must have 1 to #{NAME_BYTES_MAX}."
          end
          return text.freeze if text.valid_encoding? && !text.include?("\0")

          raise InvalidKey, "The name of a table or counter on a cluster is UTF-8 without a NUL, not #{name.inspect}."
        end

        # @param argument [String] its name
        # @return [Integer]
        # @raise [TypeError]
        # @raise [RangeError]
        def integer(argument, number, range = INTEGERS)
          raise TypeError, "#{argument}: must be an Integer, not #{number.inspect}" unless number.is_a?(Integer)
          return number if range.cover?(number)

          raise RangeError, "#{number} is out of the range of #{range == POSITIONS ? 'positions' : '64 bits'}"
        end

        def string(object)
          string = String.try_convert(object) or raise TypeError, "no implicit conversion of #{object.class} into String"
          string.b
        end
        private_class_method :string
      end

      private_constant :Limits
    end
  end
end

# frozen_string_literal: true

require_relative "wire"

module Elah
  class PeerLinks
    # An exception in a message between workers: its class and instance variables if both sides know it; its message, backtrace and causes in any
    # case.
    Failure = Struct.new(:class_name, :message, :backtrace, :dumped, :cause)

    # Conversion of exceptions to data, and of data to exceptions.
    class Failure
      # Maximum number of a backtrace's lines.
      LINES_MAX = 200

      # Maximum depth of causes.
      CAUSES_MAX = 5

      class << self
        # @param exception [Exception]
        # @return [Failure]
        def of(exception, causes_max = CAUSES_MAX)
          cause = exception.cause if causes_max.positive?
          new(exception.class.to_s, message_of(exception), (exception.backtrace || []).first(LINES_MAX), dump(exception),
              cause && of(cause, causes_max - 1))
        end

        private

        # The methods of an app's class may raise.
        def message_of(exception)
          exception.message.to_s
        rescue StandardError
          exception.class.to_s
        end

        # Leaves out parts that cannot be written.
        def dump(exception)
          Wire.dump(exception)
        rescue StandardError
          begin
            Wire.dump(bare(exception))
          rescue StandardError
            nil # a class without a name, or one that sees to its own writing
          end
        end

        def bare(exception)
          copy = exception.class.allocate.exception(message_of(exception))
          exception.instance_variables.each do |name|
            value = exception.instance_variable_get(name)
            copy.instance_variable_set(name, value) if writable?(value)
          end
          copy
        end

        def writable?(value)
          Wire.dump(value)
          true
        rescue StandardError
          false
        end
      end

      # @param address [String] of the worker where it was raised
      # @return [Exception] of the same class if it is known here, else a RemoteError; its backtrace continues at the caller
      def to_exception(address)
        error = rebuilt || RemoteError.new(message, class_name)
        error.set_backtrace([*backtrace, "#{address}:in `worker called from'", *caller.grep_v(%r{/elah/peer_links/})])
        cause ? with_cause(error, cause.to_exception(address)) : error
      end

      private

      def rebuilt
        error = dumped && Wire.load(dumped)
        error if error.is_a?(Exception)
      rescue StandardError
        nil # the class is not known here
      end

      # Ruby sets a cause only by raising.
      def with_cause(error, cause)
        raise error, cause: cause
      rescue Exception => e # -- the one that is raised here
        e
      end
    end
  end
end

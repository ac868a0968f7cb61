# frozen_string_literal: true

module Elah
  class Gather
    # Result of one call of a gather.
    class Result
      # @return [Object]
      attr_reader :key

      # @return [Symbol] :returned (it returned), :failed (it raised), :late (the deadline came first) or :limited (its worker does not reply in
      #   time at the moment, so the call was not sent)
      attr_reader :outcome

      # @return [Exception, nil] why there is no result
      attr_reader :error

      # @param fallback [Object] NONE when there is none
      # @api private
      def initialize(key, outcome, reply, error, fallback)
        @key = key
        @outcome = outcome
        @reply = reply
        @error = error
        @fallback = fallback
        freeze
      end

      # @return [Object] the result, else the fallback; a callable fallback receives the error
      # @raise [Exception] the error, when there is no fallback
      def value
        return @reply if returned?
        raise @error if @fallback.equal?(NONE)

        @fallback.respond_to?(:call) ? @fallback.call(@error) : @fallback
      end

      # @return [Boolean]
      def returned? = @outcome == :returned

      # @return [Boolean]
      def failed? = @outcome == :failed

      # @return [Boolean]
      def late? = @outcome == :late

      # @return [Boolean]
      def limited? = @outcome == :limited
    end
  end
end

# frozen_string_literal: true

module RingPools
  # The errors of an allocation in the original's API.
  class Failure < StandardError
    # @return [String] as the original names it
    attr_reader :error_class

    # @param error_class [String]
    # @param message [String]
    def initialize(error_class, message)
      @error_class = error_class
      super(message)
    end

    HANDLE_MAX = 2**31 - 1

    class << self
      # @param error [Exception] with which the call of a pool ended
      # @return [String, nil] the reason of the overflow that it leads to; nil for a mistake in the program
      def reason(error)
        case error
        when Elah::DeadlineExceeded then "deadline"
        when Elah::Overloaded, Elah::PeerLimited then "limited"
        when Elah::Unavailable, Elah::Store::Error then "unavailable"
        end
      end

      # Logs an error under a number, by which a client can report it.
      #
      # @param error [Exception]
      # @return [Integer]
      def handle(error)
        rand(1..HANDLE_MAX).tap { |handle| Elah::Log.current.exception(error, "InternalServiceError #{handle}") }
      end
    end
  end
end

# frozen_string_literal: true

module Elah
  class Scheduler
    # Time intervals of the calls that wait. Those that Ruby refuses raise its exceptions in a fiber too.
    module Interval
      # @param seconds [Numeric, #divmod, nil] also a duration of ActiveSupport; nil is none
      # @return [Numeric, #divmod, nil] the same
      # @raise [TypeError, ArgumentError]
      def self.check(seconds)
        return if seconds.nil?
        raise TypeError, "can't convert #{seconds.class} into time interval" unless seconds.respond_to?(:divmod)
        raise ArgumentError, "time interval must not be negative" unless seconds >= 0

        seconds
      end
    end
  end
end

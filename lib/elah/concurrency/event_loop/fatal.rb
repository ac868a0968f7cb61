# frozen_string_literal: true

module Elah
  class EventLoop
    # Exceptions that stop the worker instead of failing one request: those that Ruby raises for a signal. NoMemoryError is none of them: it is what
    # a single allocation of an absurd size raises. A machine without memory ends processes itself.
    module Fatal
      @trapped = []

      class << self
        # @param names [Array<String>] the signals that this process traps from now on. Ruby raises no exception for them, so a handler has raised it.
        def trapped(names) = @trapped = Signal.list.values_at(*names)

        # @param exception [Exception]
        # @return [Boolean]
        def ===(exception) = SignalException === exception && !@trapped.include?(exception.signo)
      end
    end
  end
end

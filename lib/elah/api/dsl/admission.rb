# frozen_string_literal: true

# Owns the statement that bounds how many requests run at once.
module Elah
  class API
    module DSL
      # behind.
      module Admission
        # Lets only so many requests of the endpoints that follow in this scope run at once, in each worker. The others wait in line
        # without a fiber, and are answered 503 when their time is over. Other endpoints go on meanwhile.
        #
        # @example
        #   behind SQL                            # twice as many as it has connections
        #   behind max: 20, queue_seconds: 0.5
        # @param pool [#connections_max, nil] what the endpoints wait for, an Elah::SQL for one
        # @param max [Integer, nil] requests at once
        # @param queue_seconds [Numeric, nil] how long one may wait; nil is the server's option
        # @param queue_max [Integer, nil] how many may wait; nil is the server's option
        # @raise [ArgumentError]
        def behind(pool = nil, max: nil, queue_seconds: nil, queue_max: nil)
          inherit(:gate, Gate.new(pool, max: max, queue_seconds: queue_seconds, queue_max: queue_max))
        end
      end
    end
  end
end
